//! How a journal is kept.

use giveover_core::time::Span;

/// How a journal is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Another generation is begun past this many bytes, or past twice the snapshot where that
    /// is more.
    pub limit_bytes: u64,
    /// How many generations are kept, the current one included; at least one.
    pub generations: u8,
    /// Healthy probes may wait to be written until there are this many bytes of them,
    pub buffer_bytes: usize,
    /// or until the oldest has waited this long.
    pub buffer_age: Span,
    /// While the disk cannot be written, so many bytes are kept for it.
    pub backlog_bytes: usize,
    /// And it is tried again after this.
    pub retry: Span,
}

impl Options {
    /// 8 MiB and one generation before; 64 KiB or a second; 1 MiB, each second.
    pub const DEFAULT: Self = Self {
        limit_bytes: 8 << 20,
        generations: 2,
        buffer_bytes: 64 << 10,
        buffer_age: Span::from_secs(1),
        backlog_bytes: 1 << 20,
        retry: Span::from_secs(1),
    };
}

impl Default for Options {
    fn default() -> Self {
        Self::DEFAULT
    }
}
