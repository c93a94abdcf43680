//! The core from outside: scripts for each rule, the vectors, the laws, the models.

mod scenario;
mod script;

mod accounting;
mod death;
mod giveover;
mod holds;
mod methods;
mod modes;
mod pacing;
mod policy;
mod telling;
mod vectors;
