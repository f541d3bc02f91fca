//! Amounts of memory as arguments: `76GiB`, `80GB`, `81559MiB`.

use megatron_memory::units::Bytes;

/// Units with their bytes. `80G` would leave open which is meant.
const UNITS: [(&str, u64); 4] = [
    ("gib", 1 << 30),
    ("mib", 1 << 20),
    ("gb", 1_000_000_000),
    ("mb", 1_000_000),
];

/// Reads an amount of memory.
///
/// # Errors
/// When the text is no positive number followed by a unit.
pub(crate) fn amount(text: &str) -> Result<Bytes, String> {
    let wrong = || format!("{text} is no amount of memory; write it with its unit, such as 76GiB or 80GB");
    let lower = text.trim().to_lowercase();
    let unit = UNITS
        .iter()
        .find_map(|(unit, bytes)| Some((lower.strip_suffix(unit)?, *bytes)));
    let (number, unit) = unit.ok_or_else(wrong)?;
    let (whole, fraction) = number.trim().split_once('.').unwrap_or((number.trim(), ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 9 {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let numerator: u64 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().map_err(|_| wrong())?
    };
    let denominator = 10u128.pow(u32::try_from(fraction.len()).map_err(|_| wrong())?);
    let bytes = u128::from(whole) * u128::from(unit) + u128::from(numerator) * u128::from(unit) / denominator;
    match u64::try_from(bytes) {
        Ok(bytes) if bytes > 0 => Ok(Bytes(bytes)),
        _ => Err(wrong()),
    }
}
