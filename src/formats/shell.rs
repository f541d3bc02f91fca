//! Command lines and bash launch scripts to flags, with nothing executed.
