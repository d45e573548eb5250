//! The header of the PROXY protocol, versions 1 and 2 (HAProxy, "The PROXY protocol", 2.1 and 2.2),
//! which a proxy sends at the start of a connection.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::fields::{Node, ProxyReport};

/// The maximum length in bytes of a header that is read. Version 1 has at most 107; version 2 has
/// 52, plus extensions such as a certificate's name.
const MAX_LENGTH: usize = 4096;

/// The state of reading a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The header is not complete; all of these bytes belong to it.
    Incomplete,
    /// The header is complete and has this length.
    Complete {
        /// Its length.
        length: usize,
        /// The client: nothing if the proxy connects on its own behalf (LOCAL), and hidden if the
        /// proxy does not know its address (UNKNOWN, UNSPEC, or anything but a stream over IP).
        client: ProxyReport,
    },
}

/// The bytes are not the beginning of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// Reads a header from the first bytes of a connection.
///
/// # Errors
///
/// The bytes are not the beginning of a header.
///
/// ```
/// use policy_core::forwarded::{ProxyReport, proxy_protocol::{Malformed, Progress, read}};
///
/// let bytes = b"PROXY TCP4 192.0.2.1 198.51.100.1 4711 443\r\nGET / HTTP/1.1\r\n";
/// let header = read(bytes);
/// let Ok(Progress::Complete { length: 44, client: ProxyReport::Node(client) }) = header else {
///     panic!("{header:?}")
/// };
/// assert_eq!((client.address.to_string(), client.port), ("192.0.2.1".to_owned(), Some(4711)));
/// assert_eq!(read(&bytes[..30]), Ok(Progress::Incomplete));
/// assert_eq!(read(b"GET / HTTP/1.1\r\n"), Err(Malformed));
/// ```
pub fn read(bytes: &[u8]) -> Result<Progress, Malformed> {
    if begins(bytes, SIGNATURE) {
        version_2(bytes)
    } else if begins(bytes, b"PROXY ") {
        version_1(bytes)
    } else {
        Err(Malformed)
    }
}

/// The first bytes of version 2.
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// The maximum length in bytes of a header of version 1, with its end.
const LINE: usize = 107;

/// Whether one of the two is the beginning of the other.
fn begins(bytes: &[u8], mark: &[u8]) -> bool {
    bytes.iter().zip(mark).all(|(one, other)| one == other)
}

fn version_1(bytes: &[u8]) -> Result<Progress, Malformed> {
    let line = bytes.get(..LINE).unwrap_or(bytes);
    let Some(end) = line.windows(2).position(|pair| pair == b"\r\n") else {
        return if bytes.len() < LINE { Ok(Progress::Incomplete) } else { Err(Malformed) };
    };
    let line = line.get(..end).and_then(|line| str::from_utf8(line).ok()).ok_or(Malformed)?;
    let mut words = line.split(' ').skip(1);
    let is_v4 = match words.next() {
        Some("TCP4") => true,
        Some("TCP6") => false,
        // The rest of the line is ignored.
        Some("UNKNOWN") => {
            return Ok(Progress::Complete { length: end + 2, client: ProxyReport::Hidden });
        }
        _ => return Err(Malformed),
    };
    let mut address = || {
        let address: IpAddr = words.next().and_then(|word| word.parse().ok()).ok_or(Malformed)?;
        if address.is_ipv4() == is_v4 { Ok(address) } else { Err(Malformed) }
    };
    let (source, _destination) = (address()?, address()?);
    let mut port = || words.next().and_then(port_of).ok_or(Malformed);
    let (source_port, _destination_port) = (port()?, port()?);
    match words.next() {
        Some(_) => Err(Malformed),
        None => {
            let client = node(source, source_port);
            Ok(Progress::Complete { length: end + 2, client })
        }
    }
}

fn node(address: IpAddr, port: u16) -> ProxyReport {
    ProxyReport::Node(Node { address: address.to_canonical(), port: Some(port) })
}

/// A decimal number without leading zeros.
fn port_of(word: &str) -> Option<u16> {
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit());
    let has_zeros = word.len() > 1 && word.starts_with('0');
    if is_number && !has_zeros { word.parse().ok() } else { None }
}

fn version_2(bytes: &[u8]) -> Result<Progress, Malformed> {
    let Some((&[command, family, high, low], behind)) =
        bytes.get(SIGNATURE.len()..).and_then(|behind| behind.split_first_chunk::<4>())
    else {
        // All bytes so far are valid.
        let command = bytes.get(SIGNATURE.len()).copied();
        return command.map_or(Ok(true), is_proxied).map(|_| Progress::Incomplete);
    };
    let is_proxied = is_proxied(command)?;
    let behind_length = usize::from(u16::from_be_bytes([high, low]));
    let length = SIGNATURE.len() + 4 + behind_length;
    if length > MAX_LENGTH {
        return Err(Malformed);
    }
    let Some(content) = behind.get(..behind_length) else { return Ok(Progress::Incomplete) };
    let client = match (is_proxied, family) {
        // A stream over IPv4: two addresses and two ports, followed by TLVs.
        (true, 0x11) => v4(content).ok_or(Malformed)?,
        // A stream over IPv6.
        (true, 0x21) => v6(content).ok_or(Malformed)?,
        // UNSPEC, datagrams, and sockets of a file system.
        (true, 0x00 | 0x12 | 0x22 | 0x31 | 0x32) => ProxyReport::Hidden,
        (true, _) => return Err(Malformed),
        // The address family is ignored.
        (false, _) => ProxyReport::Nothing,
    };
    Ok(Progress::Complete { length, client })
}

/// Whether the connection is forwarded for a client, and not the proxy's own.
fn is_proxied(command: u8) -> Result<bool, Malformed> {
    match command {
        0x20 => Ok(false),
        0x21 => Ok(true),
        _ => Err(Malformed),
    }
}

fn v4(content: &[u8]) -> Option<ProxyReport> {
    let (source, behind) = content.split_first_chunk::<4>()?;
    let (_destination, behind) = behind.split_first_chunk::<4>()?;
    let (port, _) = behind.split_first_chunk::<4>()?.0.split_first_chunk::<2>()?;
    Some(node(Ipv4Addr::from(*source).into(), u16::from_be_bytes(*port)))
}

fn v6(content: &[u8]) -> Option<ProxyReport> {
    let (source, behind) = content.split_first_chunk::<16>()?;
    let (_destination, behind) = behind.split_first_chunk::<16>()?;
    let (port, _) = behind.split_first_chunk::<4>()?.0.split_first_chunk::<2>()?;
    Some(node(Ipv6Addr::from(*source).into(), u16::from_be_bytes(*port)))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;

    fn second(command: u8, family: u8, content: &[u8]) -> Vec<u8> {
        let length = u16::try_from(content.len()).unwrap().to_be_bytes();
        [SIGNATURE, &[command, family], &length, content].concat()
    }

    fn client(bytes: &[u8]) -> String {
        match read(bytes) {
            Ok(Progress::Complete { length, client }) => {
                assert_eq!(length, bytes.len());
                match client {
                    ProxyReport::Nothing => "the proxy".to_owned(),
                    ProxyReport::Hidden => "hidden".to_owned(),
                    ProxyReport::Node(Node { address, port }) => {
                        SocketAddr::new(address, port.unwrap()).to_string()
                    }
                }
            }
            other => panic!("`{}`: {other:?}", bytes.escape_ascii()),
        }
    }

    /// A complete header is incomplete without its last byte, and never includes the bytes after
    /// it.
    #[test]
    fn a_header_ends_where_it_ends() {
        let v4 = [192, 0, 2, 1, 198, 51, 100, 1, 0x12, 0x67, 1, 187];
        let headers = [
            b"PROXY TCP4 192.0.2.1 198.51.100.1 4711 443\r\n".to_vec(),
            b"PROXY TCP6 2001:db8::1 2001:db8::2 1 2\r\n".to_vec(),
            b"PROXY UNKNOWN\r\n".to_vec(),
            second(0x21, 0x11, &v4),
            second(0x21, 0x11, &[&v4[..], &[4, 0, 3, b'a', b'b', b'c']].concat()),
            second(0x21, 0x21, &[7; 36]),
            second(0x20, 0, &[]),
        ];
        for header in headers {
            for length in 0..header.len() {
                let part = header.get(..length).unwrap();
                assert_eq!(read(part), Ok(Progress::Incomplete), "`{}`", part.escape_ascii());
            }
            let followed = [&header[..], b"\r\n\r\nGET /"].concat();
            assert_eq!(read(&followed), read(&header));
            client(&header);
        }
    }

    /// Around each place where a byte of the length changes, and around the longest header.
    #[test]
    fn a_length_of_two_bytes_is_read_up_to_the_longest_header() {
        let longest = MAX_LENGTH - SIGNATURE.len() - 4;
        let powers = (4..16).map(|power| 1_usize << power);
        let around = powers.flat_map(|power| [power - 1, power, power + 1]);
        for length in around.chain([longest - 1, longest, longest + 1, usize::from(u16::MAX)]) {
            let header = second(0x21, 0x11, &vec![1; length]);
            let whole = Progress::Complete { length: header.len(), client: v4(&[1; 12]).unwrap() };
            let due = if length <= longest { Ok(whole) } else { Err(Malformed) };
            assert_eq!(read(&header), due, "{length}");
            let cut = if length <= longest { Ok(Progress::Incomplete) } else { Err(Malformed) };
            assert_eq!(read(&header[..header.len() - 1]), cut, "{length}");
        }
    }

    #[test]
    fn the_client_is_the_source() {
        let v6 =
            [&[0x20, 1, 0xd, 0xb8][..], &[0; 11], &[1], &[9; 16], &[0x12, 0x67, 1, 187]].concat();
        let mapped = [&[0; 10][..], &[255, 255, 192, 0, 2, 1], &[9; 16], &[0, 80, 1, 187]].concat();
        for (header, want) in [
            (b"PROXY TCP4 192.0.2.1 198.51.100.1 65535 0\r\n".to_vec(), "192.0.2.1:65535"),
            (b"PROXY TCP6 2001:db8::1 ::1 4711 443\r\n".to_vec(), "[2001:db8::1]:4711"),
            (b"PROXY UNKNOWN ff:: 1 2 whatever\r\n".to_vec(), "hidden"),
            (second(0x21, 0x11, &[192, 0, 2, 1, 9, 9, 9, 9, 0x12, 0x67, 0, 1]), "192.0.2.1:4711"),
            (second(0x21, 0x21, &v6), "[2001:db8::1]:4711"),
            (second(0x21, 0x21, &mapped), "192.0.2.1:80"),
            // A health check by the proxy.
            (second(0x20, 0x11, &[192, 0, 2, 1, 9, 9, 9, 9, 0, 1, 0, 1]), "the proxy"),
            (second(0x20, 0xff, b"anything"), "the proxy"),
            (second(0x20, 0x11, &[]), "the proxy"),
            (second(0x21, 0x00, &[]), "hidden"),
            (second(0x21, 0x31, &[b'/'; 216]), "hidden"),
        ] {
            assert_eq!(client(&header), want, "`{}`", header.escape_ascii());
        }
    }

    #[test]
    fn everything_else_is_malformed_at_once() {
        let long = [b"PROXY UNKNOWN ", &[b'x'; 100][..]].concat();
        let long_with_an_end = [&long[..], b"\r\n"].concat();
        let too_long = [SIGNATURE, &[0x21, 0x11, 0xff, 0xff]].concat();
        for bytes in [
            b"GET / HTTP/1.1\r\n".to_vec(),
            b"\r\n\r\n\0\r\nQUIT\r".to_vec(),
            b"\x16\x03\x01".to_vec(),
            b"PROXY".map(|byte| byte.to_ascii_lowercase()).to_vec(),
            b"PROXY  TCP4 1.1.1.1 1.1.1.1 1 1\r\n".to_vec(),
            b"PROXY TCP4 1.1.1.1 1.1.1.1 1\r\n".to_vec(),
            b"PROXY TCP4 1.1.1.1 1.1.1.1 1 1 1\r\n".to_vec(),
            b"PROXY TCP4 1.1.1.1 1.1.1.1 01 1\r\n".to_vec(),
            b"PROXY TCP4 1.1.1.1 1.1.1.1 +1 1\r\n".to_vec(),
            b"PROXY TCP4 1.1.1.1 1.1.1.1 65536 1\r\n".to_vec(),
            b"PROXY TCP4 1.1.1.1 1.1.1.01 1 1\r\n".to_vec(),
            b"PROXY TCP4 ::1 ::1 1 1\r\n".to_vec(),
            b"PROXY TCP6 1.1.1.1 1.1.1.1 1 1\r\n".to_vec(),
            b"PROXY UDP4 1.1.1.1 1.1.1.1 1 1\r\n".to_vec(),
            b"PROXY TCP4 1.1.1.1 1.1.1.1 1 +1\r\n".to_vec(),
            b"PROXY TCP4 010.1.1.1 1.1.1.1 1 1\r\n".to_vec(),
            b"PROXY TCP4\r\n".to_vec(),
            b"PROXY TCP4\r1.1.1.1 1.1.1.1 1 1\r\n".to_vec(),
            b"PROXY TCP6 fe80::1%1 ::1 1 1\r\n".to_vec(),
            b"PROXY UNKNOWNTCP4 1.1.1.1 1.1.1.1 1 1\r\n".to_vec(),
            b"PROXYxTCP4 1.1.1.1 1.1.1.1 1 1\r\n".to_vec(),
            b"PROXY \r\n".to_vec(),
            long,
            long_with_an_end,
            too_long,
            second(0x21, 0x11, &[1; 5000]),
            second(0x11, 0x11, &[0; 12]),
            second(0x22, 0x11, &[0; 12]),
            second(0x21, 0x01, &[0; 12]),
            second(0x21, 0x13, &[0; 12]),
            second(0x21, 0x41, &[0; 12]),
            second(0x21, 0x11, &[0; 11]),
            second(0x21, 0x21, &[0; 35]),
        ] {
            assert_eq!(read(&bytes), Err(Malformed), "`{}`", bytes.escape_ascii());
        }
    }
}
