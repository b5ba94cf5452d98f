import ParlorReactor
import Testing

@Suite("IP addresses")
struct IPAddressTests {
    @Test(
        "an address parses, and prints in its shortest form",
        arguments: [
            ("10.0.0.1", "10.0.0.1"), ("255.255.255.255", "255.255.255.255"), ("2001:DB8:0:0::1", "2001:db8::1"),
            ("::", "::"), ("::ffff:10.0.0.1", "10.0.0.1"), ("::1", "::1"),
        ])
    func reads(text: String, printed: String) throws {
        #expect("\(try #require(IPAddress(text)))" == printed)
    }

    @Test(
        "an invalid address is refused",
        arguments: [
            "", "10.0.0", "10.0.0.256", "010.0.0.1", "10.0.0.1:80", "[::1]", "::1%lo", "::g", "localhost", "10.0.0.1 ",
            "10.0.0.1\0", "10.0.0.1/8",
        ])
    func refuses(text: String) { #expect(IPAddress(text) == nil) }

    @Test(
        "an address may have a port, as some proxies write it",
        arguments: [
            ("10.0.0.1:80", "10.0.0.1"), ("10.0.0.1", "10.0.0.1"), ("[2001:db8::1]:80", "2001:db8::1"),
            ("[2001:db8::1]", "2001:db8::1"), ("2001:db8::1", "2001:db8::1"), ("10.0.0.1:", nil), ("10.0.0.1:x", nil),
            ("10.0.0.1:65536", nil), ("[::1", nil), ("[::1]80", nil), ("[10.0.0.1]:80", "10.0.0.1"), ("[]", nil),
        ] as [(String, String?)])
    func port(text: String, address: String?) { #expect(IPAddress(perhapsWithPort: text)?.description == address) }

    @Test("an IPv4 address is the same however it is written, and is no IPv6 address")
    func mapped() throws {
        let address = try #require(IPAddress("::ffff:10.0.0.1"))
        #expect(address == IPAddress("10.0.0.1") && !address.isIPv6)
    }

    @Test(
        "a range contains the addresses with its prefix",
        arguments: [
            ("10.0.0.0/8", "10.255.1.2", true), ("10.0.0.0/8", "11.0.0.1", false), ("10.1.2.3/8", "10.9.9.9", true),
            ("10.0.0.1", "10.0.0.1", true), ("10.0.0.1", "10.0.0.2", false), ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "::1", false), ("::/0", "10.0.0.1", false), ("::/0", "2001:db8::1", true),
            ("2001:db8::/32", "2001:db8:ffff::1", true), ("2001:db8::/32", "2001:db9::1", false),
            ("2001:db8::/96", "2001:db8::9:1", true), ("2001:db8::/96", "2001:db8:0:0:0:1::1", false),
            ("::1/128", "::1", true), ("::1/128", "::2", false),
        ])
    func contains(network: String, address: String, isIn: Bool) throws {
        let (network, address) = (try #require(IPNetwork(network)), try #require(IPAddress(address)))
        #expect(network.contains(address) == isIn)
    }

    @Test(
        "a range may be wider than any private one",
        arguments: [
            ("0.0.0.0/0", true), ("::/0", true), ("0.0.0.0/1", true), ("128.0.0.0/1", true), ("10.0.0.0/8", false),
            ("fc00::/7", false), ("2000::/3", true),
        ])
    func wide(network: String, isWide: Bool) {
        #expect(IPNetwork(network)?.isWiderThanPrivate == isWide)
    }

    @Test(
        "an invalid range is refused",
        arguments: [
            "", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0.0/8/8", "::/129", "10/8",
            "10.0.0.0/99999999999999999999",
        ])
    func refusesNetworks(text: String) { #expect(IPNetwork(text) == nil) }
}
