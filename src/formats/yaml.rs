//! The subset of YAML that training configurations use, to plain data with lines.
