//! The forms that an answer may show a value in: base64, URLs, and text as JSON and HTML write it.

use std::iter;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// A form of a value. Its memory is overwritten when it is dropped.
pub(crate) type Form = Zeroizing<Vec<u8>>;

/// The shortest encoded form that is searched for: answers hold shorter ones by chance.
const ENCODED_MIN: usize = 4;
/// The shortest run of letters, digits and `-._~` that stands for the text that it is from. No encoder of text changes
/// it, so that the others need not be known.
const RUN_MIN: usize = 16;
/// The number of runs of one text that are searched for, the first ones. A key has one or two.
const RUNS_MAX: usize = 4;
/// The longest text that is searched for as encoders of text write it, if it has no run. Keys are shorter, or have one.
const WRITTEN_MAX: usize = 512;
/// The largest number of bytes that an encoder of text writes for one.
const WRITTEN_FACTOR: usize = 6;

/// The characters besides letters, digits and `-._~` that encoders of URLs leave in place.
const LEFT_BY_ENCODERS: [&[u8]; 3] = [b"", b"!'()*", b"/"];

type Digits = [u8; 16];
const UPPER: &Digits = b"0123456789ABCDEF";
const LOWER: &Digits = b"0123456789abcdef";

/// An encoder of text.
struct Writer {
    /// The characters that it replaces, each with what it writes.
    replaced: &'static [(char, &'static str)],
    /// The digits of the numbers that it writes for characters outside of ASCII; `None` if it keeps them.
    digits: Option<&'static Digits>,
}

/// The encoders of JSON and HTML that servers use. Most of them write some characters that they need not replace.
static WRITERS: [Writer; 14] = [
    // What JSON demands, and the same in ASCII: Python.
    json(&[('"', "\\\""), ('\\', "\\\\")], None),
    json(&[('"', "\\\""), ('\\', "\\\\")], Some(LOWER)),
    // PHP, and PHP where HTML is not to be in it.
    json(&[('"', "\\\""), ('\\', "\\\\"), ('/', "\\/")], Some(LOWER)),
    json(
        &[
            ('"', "\\u0022"),
            ('\\', "\\\\"),
            ('/', "\\/"),
            ('&', "\\u0026"),
            ('\'', "\\u0027"),
            ('<', "\\u003C"),
            ('>', "\\u003E"),
        ],
        Some(LOWER),
    ),
    // Gson.
    json(
        &[
            ('"', "\\\""),
            ('\\', "\\\\"),
            ('&', "\\u0026"),
            ('\'', "\\u0027"),
            ('<', "\\u003c"),
            ('=', "\\u003d"),
            ('>', "\\u003e"),
        ],
        None,
    ),
    // Go and Rails.
    json(
        &[
            ('"', "\\\""),
            ('\\', "\\\\"),
            ('&', "\\u0026"),
            ('<', "\\u003c"),
            ('>', "\\u003e"),
        ],
        None,
    ),
    // System.Text.Json.
    json(
        &[
            ('"', "\\u0022"),
            ('\\', "\\\\"),
            ('&', "\\u0026"),
            ('\'', "\\u0027"),
            ('+', "\\u002B"),
            ('<', "\\u003C"),
            ('>', "\\u003E"),
            ('`', "\\u0060"),
        ],
        Some(UPPER),
    ),
    // JavaScript that is in a page.
    json(
        &[
            ('"', "\\\""),
            ('\\', "\\\\"),
            ('/', "\\u002F"),
            ('<', "\\u003C"),
            ('>', "\\u003E"),
        ],
        None,
    ),
    // PHP; Ruby; Jinja; Django; Mustache; Go. Some replace quotes by names, others by numbers.
    html(&[
        ('&', "&amp;"),
        ('<', "&lt;"),
        ('>', "&gt;"),
        ('"', "&quot;"),
        ('\'', "&#039;"),
    ]),
    html(&[
        ('&', "&amp;"),
        ('<', "&lt;"),
        ('>', "&gt;"),
        ('"', "&quot;"),
        ('\'', "&#39;"),
    ]),
    html(&[
        ('&', "&amp;"),
        ('<', "&lt;"),
        ('>', "&gt;"),
        ('"', "&#34;"),
        ('\'', "&#39;"),
    ]),
    html(&[
        ('&', "&amp;"),
        ('<', "&lt;"),
        ('>', "&gt;"),
        ('"', "&quot;"),
        ('\'', "&#x27;"),
    ]),
    html(&[
        ('&', "&amp;"),
        ('<', "&lt;"),
        ('>', "&gt;"),
        ('"', "&quot;"),
        ('\'', "&#39;"),
        ('/', "&#x2F;"),
        ('=', "&#x3D;"),
        ('`', "&#x60;"),
    ]),
    html(&[
        ('&', "&amp;"),
        ('<', "&lt;"),
        ('>', "&gt;"),
        ('"', "&#34;"),
        ('\'', "&#39;"),
        ('+', "&#43;"),
    ]),
];

const fn json(
    replaced: &'static [(char, &'static str)],
    digits: Option<&'static Digits>,
) -> Writer {
    Writer { replaced, digits }
}

const fn html(replaced: &'static [(char, &'static str)]) -> Writer {
    let digits = None;
    Writer { replaced, digits }
}

impl Writer {
    fn write(&self, text: &str) -> Form {
        // The buffer does not grow, because growing leaves a copy behind.
        let mut form = Zeroizing::new(Vec::<u8>::with_capacity(text.len() * WRITTEN_FACTOR));
        for letter in text.chars() {
            let mut replaced = self.replaced.iter();
            match (replaced.find(|(other, _)| *other == letter), self.digits) {
                (Some((_, written)), _) => form.extend_from_slice(written.as_bytes()),
                (None, Some(digits)) if !letter.is_ascii() => {
                    for unit in letter.encode_utf16(&mut [0; 2]) {
                        form.extend_from_slice(b"\\u");
                        let [high, low] = unit.to_be_bytes();
                        form.extend(hexadecimal(high, digits));
                        form.extend(hexadecimal(low, digits));
                    }
                }
                (None, _) => {
                    form.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
        form
    }
}

/// Returns the texts that show a value, each once: the value itself first, its base64 at each offset, its forms in
/// URLs, and what stays of the value and of its base64 in JSON and HTML.
pub(crate) fn forms_of(value: &str) -> Vec<Form> {
    let base64 = base64_forms(value.as_bytes());
    let mut forms = vec![copied(value)];
    let texts = iter::once(value).chain(base64.iter().map(|text| text.as_str()));
    let encoded = base64.iter().map(|text| copied(text));
    let encoded = encoded.chain(url_forms(value.as_bytes()));
    for form in encoded.chain(texts.flat_map(written_forms)) {
        if form.len() >= ENCODED_MIN && !forms.contains(&form) {
            forms.push(form);
        }
    }
    forms
}

/// Returns the runs of a text that encoders of text leave in place; if it has none, the text as they write it.
fn written_forms(text: &str) -> Vec<Form> {
    let runs = text.split(|letter: char| !is_unreserved(letter));
    let runs = runs.filter(|run| run.len() >= RUN_MIN).take(RUNS_MAX);
    let runs: Vec<_> = runs.map(copied).collect();
    if !runs.is_empty() || text.len() > WRITTEN_MAX {
        return runs;
    }
    WRITERS.iter().map(|writer| writer.write(text)).collect()
}

/// Returns the characters of base64 that a value alone decides, at each offset from a group of three bytes.
fn base64_forms(value: &[u8]) -> Vec<Zeroizing<String>> {
    let mut forms = Vec::new();
    for offset in 0..3 {
        let mut bytes = Zeroizing::new(Vec::<u8>::with_capacity(offset + value.len()));
        bytes.resize(offset, 0);
        bytes.extend_from_slice(value);
        // A character has 6 bits: those that it shares with a byte before or after the value are not the value's.
        let first = (offset * 8).div_ceil(6);
        let end = bytes.len() * 8 / 6;
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            let text = Zeroizing::new(engine.encode(&*bytes));
            let decided = text.get(first..end).unwrap_or_default();
            forms.push(Zeroizing::new(decided.to_owned()));
        }
    }
    forms
}

/// Returns the forms of a value in URLs, as encoders with different opinions write them.
fn url_forms(value: &[u8]) -> Vec<Form> {
    let mut forms = Vec::new();
    for left in LEFT_BY_ENCODERS {
        for digits in [UPPER, LOWER] {
            forms.push(encoded_but(left, digits, value));
        }
    }
    forms
}

/// Returns a value as the value of a parameter of a query.
pub(crate) fn url_encoded(value: &[u8]) -> Zeroizing<Vec<u8>> {
    encoded_but(b"", UPPER, value)
}

/// Returns a value with `%` and two digits for each byte that is neither unreserved nor in `left`.
fn encoded_but(left: &[u8], digits: &Digits, value: &[u8]) -> Form {
    let mut text = Zeroizing::new(Vec::<u8>::with_capacity(value.len() * 3));
    for byte in value {
        if is_unreserved(char::from(*byte)) || left.contains(byte) {
            text.push(*byte);
        } else {
            text.push(b'%');
            text.extend(hexadecimal(*byte, digits));
        }
    }
    text
}

fn hexadecimal(byte: u8, digits: &Digits) -> [u8; 2] {
    let digit = |value: u8| digits.get(usize::from(value)).copied().unwrap_or(b'0');
    [digit(byte >> 4), digit(byte & 0xf)]
}

/// Returns true for a character that URLs, JSON and HTML all leave in place.
fn is_unreserved(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_' | '~')
}

fn copied(text: &str) -> Form {
    Zeroizing::new(text.as_bytes().to_vec())
}
