#![no_std]
//! Firmware library of the Giveover watchdog board.
