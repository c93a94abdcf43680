//! Tests of the journal as a whole.

mod damage;
mod disk_full;
mod frozen;
mod generations;
mod kill;
mod reading;
mod tmpfs;
mod world;
