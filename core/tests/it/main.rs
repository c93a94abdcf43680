//! The core from outside: scripts for each rule, the vectors, the laws, the models.

mod scenario;
mod script;
mod steps;

mod accounting;
mod death;
mod giveover;
mod holds;
mod laws;
mod methods;
mod modes;
mod pacing;
mod policy;
mod random;
mod telling;
mod vectors;
mod walk;
mod world;
