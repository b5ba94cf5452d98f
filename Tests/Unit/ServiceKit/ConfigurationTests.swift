import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import Testing

@testable import ParlorServiceKit

@Suite("Settings")
struct ConfigurationTests {
    private static let interval = Setting(
        "PING_INTERVAL", .duration(.milliseconds(100)...(.seconds(300))), default: "25s", "How often a ping goes out")
    private static let limits = Setting(
        "RATE_LIMITS", .onOrOff, default: "on", "Whether rates are limited")
    private static let services = Setting(
        "SERVICES", .services, default: "rooms,chat", "Who has to be there")
    private static let fault = Setting("CRASH_AT", .crashPoint, in: .faults, "Where it ends")
    private static let busPort = Setting("BUS_PORT", oldName: "PORT", .port, default: "4150", "The bus' port")
    private static let workers = Setting("WORKERS", .number(1...9), unset: "auto", "How many work")
    private static let proxies = Setting("PROXIES", .networks, "Who is believed")
    private static let operationsPort = Setting("OPS_PORT", .port, "A port for operators")
    private static let settings: [any AnySetting] = [
        Setting.port, Setting.data, Setting.bus, operationsPort, interval, limits, services, proxies, fault,
        Setting.testing, workers,
    ]

    private static func read(
        _ arguments: [String], environment: [String: String] = [:]
    ) throws(ConfigurationError) -> Configuration {
        try Configuration(settings, arguments: arguments, environment: environment)
    }

    @Test("flags are the names in lower case, and those typed by hand are shorter")
    func flags() {
        #expect(Self.interval.flag == "--ping-interval")
        #expect(
            ([Setting.host, Setting.port, Setting.data, Setting.bus] as [any AnySetting]).map {
                "\($0.flag) \($0.name)"
            }
                == ["--host HOST", "--port PORT", "--data DATA_DIR", "--bus BUS_URL"])
    }

    @Test("an unset value has its default")
    func defaults() throws {
        let configuration = try Self.read([])
        #expect(configuration[.port] == 8080)
        #expect(configuration[.data] == "./data")
        #expect(configuration[Self.interval] == .seconds(25))
        #expect(configuration[Self.operationsPort] == nil)
    }

    @Test("a flag wins over the environment, which wins over the default")
    func precedence() throws {
        let environment = ["PORT": "1111", "DATA_DIR": "/from/environment"]
        let configuration = try Self.read(["--port", "2222"], environment: environment)
        #expect(configuration[.port] == 2222)
        #expect(configuration[.data] == "/from/environment")
        #expect(configuration[.bus] == BusURL("tcp://127.0.0.1:4150"))
    }

    @Test("a setting that was renamed takes its old name too, and the new one wins in the environment")
    func oldNames() throws {
        func port(_ environment: [String: String], _ arguments: [String] = []) throws -> UInt16 {
            try Configuration([Self.busPort], arguments: arguments, environment: environment)[Self.busPort]
        }
        #expect(try port([:]) == 4150)
        #expect(try port(["PORT": "1"]) == 1)
        #expect(try port(["PORT": "1", "BUS_PORT": "2"]) == 2)
        #expect(try port(["BUS_PORT": "2"], ["--port", "3"]) == 3)
        #expect(try port(["PORT": "1"], ["--bus-port=4"]) == 4)
        // Another program's setting may have the name.
        #expect(try port(["PORT": "70000"]) == 4150)
        #expect(throws: ConfigurationError.self) { try port([:], ["--port", "70000"]) }
    }

    @Test("what an automatic setting is set to may be written as auto, and as 0", arguments: ["", "auto", "0", "3"])
    func automatic(text: String) throws {
        #expect(try Self.read([], environment: ["WORKERS": text])[Self.workers] == (text == "3" ? 3 : nil))
    }

    @Test("parts of a program share a setting, and two different ones of one name stop the start")
    func shared() throws {
        var settings: [any AnySetting] = [Self.busPort]
        try settings.add(Self.busPort)
        #expect(settings.count == 1)
        let other = Setting("BUS_PORT", .onOrOff, default: "on", "Whether there is one")
        let refusal = ConfigurationError.malformed("two parts of this program have a setting BUS_PORT: rename one")
        #expect(throws: refusal) { try settings.add(other) }
    }

    @Test("a setting that endangers data needs TESTING=on")
    func faults() throws {
        let error = #expect(throws: ConfigurationError.self) { try Self.read(["--crash-at", "after-commit:3"]) }
        #expect(error?.description == "CRASH_AT (--crash-at) is for tests: it needs TESTING=on")
        #expect(try Self.read([], environment: ["CRASH_AT": ""])[Self.fault] == nil)
        #expect(try Self.read(["--crash-at", "after-commit:3"], environment: ["TESTING": "on"])[Self.fault] != nil)
    }

    @Test("a value stands after the flag or after an equals sign", arguments: [["--data", "a=b"], ["--data=a=b"]])
    func forms(arguments: [String]) throws {
        #expect(try Self.read(arguments)[.data] == "a=b")
    }

    @Test("the last of a repeated flag counts")
    func twice() throws {
        #expect(try Self.read(["--port", "1", "--port=2"])[.port] == 2)
    }

    @Test(
        "an unknown flag stops the start",
        arguments: ["--prot", "--data-dir", "--bus-url", "-p", "8080", "--", "--port-"])
    func unknown(flag: String) {
        #expect(throws: ConfigurationError.unknownFlag(flag)) { try Self.read([flag, "1"]) }
    }

    @Test("a flag without its value stops the start")
    func missing() {
        #expect(throws: ConfigurationError.missingValue("--port")) { try Self.read(["--data", "x", "--port"]) }
    }

    @Test(
        "a malformed value stops the start, from any source",
        arguments: [
            ("PORT", "65536"), ("PORT", "-1"), ("PORT", "http"), ("PORT", ""), ("PORT", "8080 "), ("OPS_PORT", "x"),
            ("PING_INTERVAL", "25 s"), ("PING_INTERVAL", "1ms"), ("PING_INTERVAL", "1h"), ("PING_INTERVAL", "s"),
            ("PING_INTERVAL", "99999999999999999999s"), ("PING_INTERVAL", "9223372036854775807d"),
            ("RATE_LIMITS", "maybe"), ("SERVICES", ""), ("SERVICES", "rooms,"),
            ("SERVICES", "rooms,,chat"), ("SERVICES", "rooms, rooms"), ("SERVICES", "Rooms"),
            ("SERVICES", "rooms;chat"), ("SERVICES", "rooms.x"), ("SERVICES", "*"),
            ("PROXIES", "10.0.0.1,"), ("PROXIES", "proxy"), ("PROXIES", "10.0.0.0/33"),
            ("CRASH_AT", "after-commit"), ("CRASH_AT", "later:1"), ("WORKERS", "10"), ("WORKERS", "none"),
        ])
    func malformed(name: String, value: String) throws {
        let setting = try #require(Self.settings.first { $0.name == name })
        for (arguments, environment) in [([setting.flag, value], [:]), ([], [name: value])] {
            let error = #expect(throws: ConfigurationError.self) {
                try Self.read(arguments, environment: environment)
            }
            let line = try #require(error).description
            #expect(line.hasPrefix("\(name) (\(setting.flag)) has to be "))
            #expect(line.hasSuffix("not \"\(value)\""))
            #expect(!line.contains("\n"))
        }
    }

    @Test(
        "a malformed address of the bus is not shown, as it may have a password in it",
        arguments: ["", "http://127.0.0.1:4150", "tcp://127.0.0.1", "nats://parlor:pa/ss@nats:4222"])
    func secret(value: String) throws {
        let error = #expect(throws: ConfigurationError.self) { try Self.read(["--bus", value]) }
        #expect(error?.description == "BUS_URL (--bus) has to be tcp://HOST:PORT or nats://HOST:PORT")
    }

    @Test("an empty value means none, for a setting without a default, and so does the word", arguments: ["", "none"])
    func empty(text: String) throws {
        #expect(try Self.read([], environment: ["OPS_PORT": text])[Self.operationsPort] == nil)
    }

    @Test(
        "times have units, and are milliseconds without one",
        arguments: [
            ("500ms", 500), ("1500", 1500), ("25s", 25_000), ("2m", 120_000),
        ])
    func durations(text: String, milliseconds: Int) throws {
        #expect(try Self.read(["--ping-interval", text])[Self.interval].milliseconds == milliseconds)
    }

    @Test(
        "sizes have units, and are bytes without one",
        arguments: [("65536", 65536), ("64k", 65536), ("1m", 1 << 20), ("2g", 2 << 30)])
    func sizes(text: String, bytes: Int) throws {
        let size = Setting("MAX_SIZE", .size(1...(4 << 30)), default: "1k", "A size")
        #expect(try Configuration([size], arguments: ["--max-size", text])[size] == bytes)
    }

    private enum Colour: String, CaseIterable { case red, green }

    @Test("a choice is a value of its own type, by its name")
    func choices() throws {
        let colour = Setting("COLOUR", .choice(Colour.self), default: "green", "A colour")
        let number = Setting("NUMBER", .choice([1, 2]) { "n\($0)" }, default: "n1", "A number")
        let configuration = try Configuration([colour, number], arguments: ["--number", "n2"])
        #expect(configuration[colour] == .green && configuration[number] == 2)
        #expect(colour.objection(to: "blue") == "has to be one of red, green")
        #expect(number.objection(to: "2") == "has to be one of n1, n2")
    }

    @Test("on and off need a value, and a toggle is on by its flag alone")
    func toggles() throws {
        let toggle = Setting("DRY", .toggle, default: "off", "Whether it is dry")
        let settings: [any AnySetting] = [Self.limits, toggle]
        let configuration = try Configuration(settings, arguments: ["--dry", "--rate-limits", "off"])
        #expect(configuration[toggle] && !configuration[Self.limits])
        #expect(try !Configuration(settings, arguments: ["--dry=off"])[toggle])
        #expect(throws: ConfigurationError.missingValue("--rate-limits")) {
            try Configuration(settings, arguments: ["--rate-limits"])
        }
        #expect(toggle.objection(to: "yes") == "has to be on or off")
        #expect(Self.limits.objection(to: "yes") == "has to be one of on, off")
    }

    @Test("a rate is a count in a time for a person, and one for an address")
    func rates() throws {
        #expect(
            Rate(setting: "5/10s,50/10s")
                == Rate(perPerson: 5, perAddress: 50, window: .seconds(10)))
        for text in ["5/10s", "5,50", "0/1s,1/1s", "1/0s,1/1s", "1/1s,1/1s,1/1s", "-1/1s,1/1s", "/,/"] {
            #expect(Rate(setting: text) == nil, "\(text)")
        }
    }

    @Test("a rate of addresses alone is one count in a time, or both as before", arguments: ["50/10s", "5/10s,50/10s"])
    func addressRates(text: String) throws {
        let rate = Setting("RATE", .addressRate, "A rate")
        #expect(try Configuration([rate], environment: ["RATE": text])[rate]?.perAddress == 50)
        for text in ["50", "5/10s,", "1/1s,1/1s,1/1s"] { #expect(rate.objection(to: text) != nil) }
    }

    @Test("lists have commas, and may have spaces beside them")
    func lists() throws {
        let configuration = try Self.read([
            "--services", "rooms, my-stars_2", "--proxies", "10.0.0.1, ::1,10.1.0.0/16",
        ])
        #expect(configuration[Self.services] == ["rooms", "my-stars_2"])
        #expect(configuration[Self.proxies] == ["10.0.0.1", "::1", "10.1.0.0/16"].compactMap { IPNetwork($0) })
        #expect(try Self.read([])[Self.proxies] == nil)
    }

    @Test(
        "help is recognised anywhere on the command line",
        arguments: [
            (["--help"], Inquiry.help), (["-h"], .help), (["--port", "1", "--help-all"], .fullHelp),
            (["--version", "--prot"], .version), (["--settings-json"], .settings),
        ])
    func inquiries(arguments: [String], inquiry: Inquiry) {
        #expect(throws: ConfigurationError.inquiry(inquiry)) { try Self.read(arguments) }
    }

    @Test("bounds are written as values are, in the largest unit that divides them")
    func bounds() {
        let time = Setting("TIME", .duration(.milliseconds(1500)...(.seconds(366 * 86_400))), default: "2s", "A time")
        #expect(time.bounds == "1500ms to 366d")
        #expect(time.objection(to: "1s") == "has to be a time such as 500ms, 25s or 5m, 1500ms to 366d")
        #expect(Setting("PAUSE", .duration(.zero...(.seconds(90))), default: "1s", "").bounds == "0s to 90s")
        let size = Setting("SIZE", .size(0...3 << 20), default: "1m", "A size")
        #expect(size.bounds == "0 to 3m")
        #expect(size.objection(to: "4m") == "has to be a size such as 65536, 64k or 1m, 0 to 3m")
        #expect(Setting("BYTES", .size(1000...96 << 10), default: "2k", "").bounds == "1000 to 96k")
        #expect(Setting("COUNT", .number(1...2000), default: "2", "").bounds == "1 to 2000")
    }

    private static func answer(_ inquiry: Inquiry) -> String {
        let longest = Setting(
            "PUSH_WEBHOOK_SECRET_FILE", .path, in: .notifications, unset: "webhook.secret in the data folder",
            "File with the key that signs webhook requests, which are those to the URL of the other setting")
        let rate = Setting("MAX_BUFFERED_BYTES_PER_ADDRESS", .size(0...1 << 30), default: "1m", in: .tuning, "Bytes")
        return inquiry.answer(
            program: "parlor-test", summary: "A test.", settings + [rate, longest], commands: [("verify", "Verifies.")])
    }

    @Test("help has a group for each kind of setting, with defaults and bounds, in lines of at most 100 columns")
    func help() {
        let text = Self.answer(.help)
        #expect(text.hasPrefix("A test.\n\nusage: parlor-test [--flag VALUE]…\n\nListen\n  --port "))
        for line in [
            "  --data (DATA_DIR)           The folder for databases and secrets [default: ./data]",
            "  --ping-interval             How often a ping goes out [default: 25s; 100ms to 5m]",
            "  --ops-port                  A port for operators [default: none]",
            "  --push-webhook-secret-file  File with the key that signs webhook requests, which are those to the",
            "  parlor-test verify          Verifies.",
        ] {
            #expect(text.contains("\n\(line)\n"), "\(line)")
        }
        #expect(text.split(separator: "\n").allSatisfy { $0.count <= 100 })
        #expect(!text.contains("--crash-at") && !text.contains("--max-buffered"))
        let all = Self.answer(.fullHelp)
        #expect(!all.contains("--crash-at"))
        let term = "  --max-buffered-bytes-per-address\n" + String(repeating: " ", count: 30)
        #expect(all.contains("\nFine tuning\n\(term)Bytes [default: 1m; 0 to 1g]\n"))
    }

    @Test("scripts get all settings as JSON, and the version has the program's name")
    func scripts() throws {
        let settings = try JSONValue(parsing: Array(Self.answer(.settings).utf8)).array ?? []
        #expect(settings.count == Self.settings.count + 2)
        let interval = try #require(settings.first { $0["name"]?.string == "PING_INTERVAL" })
        #expect(
            interval
                == JSONWriter.object {
                    $0.member("name", "PING_INTERVAL")
                    $0.member("flag", "--ping-interval")
                    $0.member("oldName", JSONValue.null)
                    $0.member("group", "Others")
                    $0.member("default", "25s")
                    $0.member("values", "100ms to 5m")
                    $0.member("help", "How often a ping goes out")
                })
        #expect(Self.answer(.version) == "parlor-test \(Release.version)")
    }
}
