//! The core from outside: scripts for each rule, the vectors, the laws, the models.

mod same;
mod scenario;
mod script;
mod steps;

mod accounting;
mod death;
mod giveover;
mod holds;
mod laws;
mod methods;
mod model;
mod modes;
mod pacing;
mod policy;
mod random;
mod telling;
mod vectors;
mod walk;
mod world;
