//! What a user may set, and how raw values become a checked configuration.
