#![no_std]
//! The decision core of Giveover.
