//! The core from outside: scripts for each rule, the vectors, the laws, the models.

#[cfg(feature = "record")]
mod record;
#[cfg(feature = "record")]
mod replay;
mod same;
mod scenario;
mod script;
mod share;
mod steps;

mod accounting;
mod bench;
mod board;
mod board_around;
mod board_asked;
mod board_record;
mod board_walk;
mod claim;
mod claim_walk;
mod cycle;
mod death;
#[cfg(feature = "record")]
mod frozen;
#[cfg(feature = "record")]
mod frozen_standing;
mod giveover;
mod holds;
mod laws;
mod methods;
mod model;
mod modes;
mod pacing;
mod peer;
mod peer_laws;
mod peer_world;
mod policy;
mod pool;
mod pool_vectors;
mod pool_walk;
mod random;
mod shadow;
mod telling;
mod vectors;
mod walk;
mod wire;
mod wire_ends;
mod wire_frames;
mod wire_peer;
mod wire_v1;
mod world;
