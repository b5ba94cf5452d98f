// swift-tools-version: 6.2
import PackageDescription

// A service depends on Shared and on its own parts, never on another service. Nothing in Shared depends on Services or
// Clients; within Shared, `Group` is the rule. The client library depends on nothing, as it is also a package of its own
// for apps, Clients/ParlorClient. Of the clients only LinuxWebSocket depends on Shared, and only tests on Tests.
// `deploy/check-layers` checks this. `dependencies` stays empty: the rest is the toolchain, or C libraries.

// Warnings are errors in our own builds, which set PARLOR_WARNINGS_AS_ERRORS. Never in an app's: Xcode passes -suppress-warnings to
// dependencies, and the compiler refuses the two together. A newer compiler has warnings that nobody here has seen.
#if compiler(<6.4)
    let warnings: [SwiftSetting] =
        Context.environment["PARLOR_WARNINGS_AS_ERRORS"] != nil ? [.treatAllWarnings(as: .error)] : []
#else
    let warnings: [SwiftSetting] = []
#endif
let settings = [.enableUpcomingFeature("NonisolatedNonsendingByDefault")] + warnings

/// The groups of Shared/, and what each may depend on beside itself.
enum Group: String {
    /// Bytes to and from others: protocols, and the edge that is made of them. On Platform and System.
    case network = "Network"
    /// What any server could use: text and JSON, secrets, threads, event loops, databases, the bus. On System.
    case platform = "Platform"
    /// What a service is made with, and the words in which services talk. On all groups.
    case kit = "Kit"
    /// C libraries of the system. On nothing.
    case system = "System"
}

/// A target in a group of Shared/.
func shared(_ group: Group, _ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Shared/\(group.rawValue)/\(name)", exclude: ["README.md"],
        swiftSettings: settings)
}

/// A C library of the system behind a module map.
func system(_ name: String, apt package: String? = nil) -> Target {
    .systemLibrary(
        name: name, path: "Shared/\(Group.system.rawValue)/\(name)", providers: package.map { [.apt([$0])] })
}

/// A C library of the system that is loaded when it is first needed: in its folder, functions of the same names call it.
func loaded(_ name: String) -> Target { .target(name: name, path: "Shared/\(Group.system.rawValue)/\(name)") }

/// A target of the package Clients/ParlorClient, which is built with this package, too.
func library(
    _ name: String, _ dependencies: [Target.Dependency] = [], in folder: String = "Sources",
    exclude others: [String] = [],
    resources: [Resource] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Clients/ParlorClient/\(folder)/\(name)", exclude: others,
        resources: resources, swiftSettings: settings)
}

// On a Mac, parlor-chat has the library's own WebSockets.
#if os(Linux)
    let linuxWebSocket: [Target.Dependency] = ["LinuxWebSocket"]
#else
    let linuxWebSocket: [Target.Dependency] = []
#endif

/// What every service may import.
let kit = ["Contracts", "EventLog", "JSON", "MessageBus", "Security", "ServiceKit", "Storage"]

/// The services of Parlor, in the order in which they start. Scripts read the names from here (`deploy/programs`), and
/// `ParlorServices` lists their types.
///
/// `service("Polls", …)` is the folder Services/Polls: a module Polls with a public `PollsService` whose `name` is "polls", and in
/// Main/ the executable `parlor-polls`. `tests` are what the tests in its folder Tests/ use, if it has one.
let services = [
    service("Accounts", ["Reactor", "Text", "Workers"]),
    service("Rooms", ["Reactor", "Text"]),
    service("Messaging", ["Reactor", "Workers"]),
    service("Elements", ["Reactor"]),
    service("Push", ["Reactor", "WebClient", "Workers"]),
]

func service(
    _ name: String, _ dependencies: [Target.Dependency] = [], tests used: [Target.Dependency]? = nil
) -> (name: String, targets: [Target]) {
    let own = program(
        name, executable: "parlor-\(name.lowercased())", kit.map { .target(name: $0) } + dependencies,
        besides: ["README.md"] + (used == nil ? [] : ["Tests"]))
    guard let used else { return (name, own) }
    let all = ([name, "ServiceKitTesting", "TestSupport"] + kit).map { .target(name: $0) } + used
    return (name, own + [tests(name, all, path: "Services/\(name)/Tests", exclude: ["access.json"])])
}

/// The logic of a program in Services/, and the executable that wires it up.
func program(
    _ name: String, executable: String, _ dependencies: [Target.Dependency], besides others: [String] = ["README.md"]
) -> [Target] {
    [
        .target(
            name: name, dependencies: dependencies, path: "Services/\(name)", exclude: others + ["Main"],
            swiftSettings: settings),
        .executableTarget(
            name: executable, dependencies: [.target(name: name), "Operations", "ServiceKit"],
            path: "Services/\(name)/Main", swiftSettings: settings),
    ]
}

/// The gateway: its parts from the ground, of which each may use those before it, and the service that wires them.
func gateway() -> [Target] {
    let ground: [Target.Dependency] = ["Contracts", "JSON", "MessageBus", "Reactor", "ServiceClient", "ServiceKit"]
    func part(_ name: String, _ folder: String, _ dependencies: [Target.Dependency]) -> Target {
        .target(
            name: name, dependencies: ground + dependencies, path: "Services/Gateway/\(folder)",
            exclude: ["README.md"], swiftSettings: settings)
    }
    let parts = [
        part("GatewayCatalog", "Catalog", ["EventLog", "Logging", "Security", "SocketIO", "Workers"]),
        part("GatewayLimits", "Limits", ["GatewayCatalog"]),
        part("APIDocuments", "APIDocuments", ["GatewayCatalog", "HTTP", "Logging", "Security"]),
        part("GatewayPresence", "Presence", []),
        .target(
            name: "WebPage", dependencies: ["CZlib", "HTTP", "Security"], path: "Services/Gateway/WebPage",
            exclude: ["README.md"], swiftSettings: settings),
        part(
            "RoomViews", "RoomViews",
            ["EventLog", "GatewayCatalog", "GatewayLimits", "GatewayPresence", "HTTP", "Security", "Workers"]),
        part(
            "Delivery", "Delivery",
            [
                "Edge", "EventLog", "GatewayCatalog", "GatewayLimits", "GatewayPresence", "RoomViews", "Security",
                "SocketIO",
            ]),
        part(
            "GatewayEdge", "Edge",
            [
                "APIDocuments", "Delivery", "Edge", "EventLog", "GatewayCatalog", "GatewayLimits", "GatewayPresence",
                "HTTP", "Operations", "RoomViews", "Security", "SocketIO", "WebPage",
            ]),
    ]
    let folders = parts.compactMap { $0.path?.split(separator: "/").last.map(String.init) }
    return parts
        + program(
            "Gateway", executable: "parlor-gateway",
            parts.map { .target(name: $0.name) } + [
                "Contracts", "Edge", "EventLog", "MessageBus", "Reactor", "Security", "ServiceClient", "ServiceKit",
                "SocketIO",
            ], besides: ["README.md"] + folders)
}

/// The tests of a target: in Tests/Unit, where they start no server and no process, unless a path is given.
func tests(
    _ name: String, _ dependencies: [Target.Dependency], path: String? = nil, exclude others: [String] = []
) -> Target {
    .testTarget(
        name: "\(name)Tests", dependencies: dependencies, path: path ?? "Tests/Unit/\(name)", exclude: others,
        swiftSettings: settings)
}

/// The tests of a target that listen on a port or start a process, in Tests/Wire.
func wireTests(_ name: String, _ dependencies: [Target.Dependency], exclude others: [String] = []) -> Target {
    tests("\(name)Wire", dependencies, path: "Tests/Wire/\(name)", exclude: others)
}

/// The tests of a client, in Tests/Clients unless a path is given.
func clientTests(
    _ name: String, _ dependencies: [Target.Dependency] = [], path: String? = nil, exclude others: [String] = []
) -> Target {
    tests(
        name, ["ClientTestSupport", "ParlorClient", "ParlorClientTesting"] + dependencies,
        path: path ?? "Tests/Clients/\(name)", exclude: others)
}

/// The tests of one of Parlor's own services.
func serviceTests(_ name: String, _ others: [Target.Dependency] = []) -> Target {
    let all = kit + [name, "Reactor", "ServiceKitTesting", "TestSupport", "Workers"]
    return tests(name, all.map { .target(name: $0) } + others)
}

/// What tests stand on, in Tests/Support.
func support(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/Support/\(name)", swiftSettings: settings)
}

/// The fuzz targets in Tests/Fuzz: tests that replay their corpora, or, if the environment has FUZZ, the program that deploy/fuzz
/// links with libFuzzer. Never both: a file belongs to one target.
func fuzzing() -> [Target] {
    let dependencies: [Target.Dependency] = [
        "Accounts", "Bus", "Contracts", "Delivery", "Edge", "EventLog", "GatewayEdge", "HTTP", "JSON", "MessageBus",
        "Messaging", "Push", "Reactor", "Security", "ServiceKit", "SocketIO", "TestSupport", "WebClient", "WebSocket",
    ]
    let others = ["README.md", "Corpus", "Dictionaries", "CFuzzer"]
    guard Context.environment["FUZZ"] != nil else {
        return [
            .testTarget(
                name: "FuzzTests", dependencies: dependencies, path: "Tests/Fuzz", exclude: others + ["Main"],
                swiftSettings: settings)
        ]
    }
    return [
        .systemLibrary(name: "CFuzzer", path: "Tests/Fuzz/CFuzzer"),
        .executableTarget(
            name: "parlor-fuzz", dependencies: dependencies + ["CFuzzer"], path: "Tests/Fuzz",
            exclude: others + ["CorpusTests.swift"], swiftSettings: settings),
    ]
}

/// The modules of this package that a plugin reaches have a prefix: their names are unique among all packages of a plugin, such as
/// swift-log with its `Logging`. In this file and in folders they have none.
func module(_ name: String) -> String {
    let others = ["CFuzzer", "ClientTestSupport", "GatewayTesting", "ScreenModels", "TestClients", "parlor"]
    if name.hasPrefix("Parlor") || name.hasSuffix("Tests") || name.contains("-") || others.contains(name) {
        return name
    }
    return name.hasPrefix("C") && name.dropFirst().first?.isUppercase == true
        ? "CParlor\(name.dropFirst())" : "Parlor\(name)"
}

let package = Package(
    name: "parlor",
    platforms: [.macOS(.v14)],
    products: [
        // For services in other packages, such as Examples/Polls.
        .library(
            name: module("ServiceKit"),
            targets: (kit + ["Logging", "Operations", "Reactor", "ServiceClient", "Text", "WebClient", "Workers"]).map(
                module)),
        .library(name: "ParlorServices", targets: ["ParlorServices"]),
        .library(name: module("ServiceKitTesting"), targets: ["ServiceKitTesting", "TestSupport"].map(module)),
    ],
    dependencies: [],
    targets: [
        system("CLinux"),
        system("CSQLite", apt: "libsqlite3-dev"),
        system("CCrypto", apt: "libssl-dev"),
        system("CZlib", apt: "zlib1g-dev"),
        loaded("CPostgres"),
        loaded("CCurl"),
        shared(.platform, "Text"),
        shared(.platform, "JSON", ["Text"]),
        shared(.platform, "Security", ["CCrypto", "JSON"]),
        shared(.platform, "Workers", ["CLinux"]),
        shared(.platform, "Reactor", ["CLinux", "Workers"]),
        shared(.platform, "Storage", ["CPostgres", "CSQLite", "JSON", "Workers"]),
        shared(.platform, "MessageBus", ["JSON", "Reactor"]),
        shared(.network, "HTTP", ["Text"]),
        shared(.network, "WebSocket", ["Security"]),
        shared(.network, "SocketIO", ["JSON", "Security"]),
        shared(.network, "Edge", ["Reactor", "HTTP", "WebSocket", "SocketIO", "JSON", "Security"]),
        shared(.network, "WebClient", ["CCurl", "Workers"]),
        shared(.kit, "Contracts", ["JSON"]),
        shared(.kit, "Logging", ["Contracts", "JSON"]),
        shared(.kit, "ServiceClient", ["Contracts", "JSON", "Logging", "MessageBus", "Reactor"]),
        shared(
            .kit, "EventLog",
            [
                "Contracts", "JSON", "Logging", "MessageBus", "Reactor", "ServiceClient", "Storage", "Workers",
            ]),
        shared(
            .kit, "ServiceKit",
            [
                "Contracts", "EventLog", "JSON", "Logging", "MessageBus", "Reactor", "Security", "ServiceClient",
                "Storage", "Workers",
            ]),
        // Apart from ServiceKit, as it stands on the edge: a service need not.
        shared(.kit, "Operations", ["Edge", "HTTP", "JSON", "Reactor", "ServiceKit", "SocketIO"]),
        library("ParlorClient", resources: [.process("PrivacyInfo.xcprivacy")]),
        library("ParlorClientTesting", ["ParlorClient"], exclude: ["README.md"]),
        // The WebSockets of the library's programs on Linux, where the library itself only polls.
        .target(
            name: "LinuxWebSocket", dependencies: ["ParlorClient", "Reactor", "Security", "WebSocket"],
            path: "Clients/LinuxWebSocket", swiftSettings: settings),
        // What runs of the screens without SwiftUI. deploy/test-screens checks the rest.
        .target(
            name: "ScreenModels", dependencies: ["ParlorClient", "ParlorClientTesting"], path: "Clients/iOS/Models",
            swiftSettings: settings),
        .target(
            name: "Chat", dependencies: ["ParlorClient"], path: "Clients/Chat", exclude: ["README.md", "Main"],
            swiftSettings: settings),
        .executableTarget(
            name: "parlor-chat", dependencies: ["Chat", "ParlorClient"] + linuxWebSocket, path: "Clients/Chat/Main",
            swiftSettings: settings),
        support(
            "TestSupport",
            ["Contracts", "JSON", "Logging", "MessageBus", "Reactor", "Security", "Storage", "Workers"]),
        // A service in a test: apart from TestSupport, as the benchmark and the drill need no Testing.
        support(
            "ServiceKitTesting",
            [
                "Contracts", "EventLog", "JSON", "MessageBus", "Reactor", "ServiceKit", "Storage", "TestSupport",
                "Workers",
            ]),
        // All services and the gateway in one process.
        support(
            "ParlorTesting",
            [
                "Contracts", "Gateway", "MessageBus", "ParlorServices", "Reactor", "Security", "ServiceKit",
                "TestSupport",
            ]),
        support("TestClients", ["JSON", "Reactor", "Security", "WebSocket"]),
        .executableTarget(
            name: "protocol-echo", dependencies: ["Edge", "Reactor", "HTTP", "SocketIO", "JSON"],
            path: "Tests/System/Conformance/protocol-echo", swiftSettings: settings),
        .executableTarget(
            name: "client-journey", dependencies: ["LinuxWebSocket", "ParlorClient"], path: "Tests/System/Journey",
            exclude: ["README.md"], swiftSettings: settings),
        .executableTarget(name: "bench-floor", path: "Tests/Load/Floor"),
        .executableTarget(
            name: "parlor-bench",
            dependencies: [
                "CPostgres", "CSQLite", "EventLog", "JSON", "LinuxWebSocket", "Messaging", "Reactor", "ParlorClient",
                "Security", "Storage", "TestClients", "TestSupport", "WebSocket", "Workers",
            ],
            path: "Tests/Load",
            exclude: ["README.md", "figures.json", "play-apple", "Floor", "Tests"], swiftSettings: settings),
        tests("Bench", ["parlor-bench"], path: "Tests/Load/Tests"),
        .executableTarget(
            name: "parlor-drill",
            dependencies: [
                "Contracts", "Elements", "EventLog", "JSON", "Messaging", "ParlorServices", "Reactor", "Rooms",
                "ServiceKit", "Storage", "TestClients", "TestSupport",
            ],
            path: "Tests/Drill", exclude: ["README.md", "Tests"], swiftSettings: settings),
        tests("Drill", ["parlor-drill", "TestSupport"], path: "Tests/Drill/Tests"),
        tests("Text", ["Text"]),
        tests("JSON", ["JSON", "TestSupport", "Text"]),
        // With the log, too: its entries and pages cross borders.
        tests("Contracts", ["Contracts", "EventLog", "JSON", "TestSupport"]),
        tests(
            "EventLog",
            [
                "EventLog", "Contracts", "JSON", "Logging", "MessageBus", "Reactor", "ServiceClient", "ServiceKit",
                "Storage", "TestSupport",
            ]),
        tests(
            "ServiceKit",
            [
                "ServiceKit", "Contracts", "EventLog", "JSON", "Logging", "MessageBus", "Reactor", "Storage",
                "TestSupport", "Workers", "ServiceClient", "ServiceKitTesting",
            ]),
        tests("Security", ["Security", "JSON", "TestSupport"]),
        tests("Reactor", ["Reactor", "TestSupport", "Workers"]),
        wireTests("Reactor", ["Reactor", "TestSupport", "Workers"]),
        tests("HTTP", ["HTTP", "TestSupport"]),
        tests("WebSocket", ["TestSupport", "WebSocket"]),
        tests("SocketIO", ["SocketIO", "JSON", "TestSupport"]),
        wireTests("Edge", ["Edge", "Reactor", "HTTP", "WebSocket", "SocketIO", "JSON", "TestSupport"]),
        tests("MessageBus", ["MessageBus", "JSON"]),
        // On the broker, too: what holds for every bus is asked of the one that speaks to it.
        wireTests("MessageBus", ["MessageBus", "Bus", "JSON", "Reactor", "TestSupport"]),
        wireTests("WebClient", ["WebClient", "Reactor", "TestSupport"]),
        tests("Workers", ["Workers"]),
        // With the log, too: its entries are what writes report.
        tests("Storage", ["Storage", "Contracts", "EventLog", "JSON", "TestSupport", "Workers"]),
        wireTests("Storage", ["Storage", "Contracts", "EventLog", "TestSupport"]),
        tests("Bus", ["Bus", "MessageBus", "Security", "ServiceKit"]),
        wireTests(
            "Bus",
            [
                "Accounts", "Bus", "Contracts", "Elements", "Gateway", "JSON", "MessageBus", "Messaging",
                "ParlorServices", "Push", "Reactor", "Rooms", "Security", "ServiceKit", "TestSupport", "Workers",
            ]),
        serviceTests("Accounts"),
        serviceTests("Rooms"),
        serviceTests("Elements"),
        serviceTests("Messaging"),
        serviceTests("Push", ["WebClient"]),
        support(
            "GatewayTesting",
            ["Contracts", "EventLog", "GatewayPresence", "JSON", "MessageBus", "Reactor", "ServiceKit", "TestSupport"]),
        tests(
            "Gateway",
            [
                "APIDocuments", "Contracts", "Delivery", "EventLog", "GatewayCatalog", "GatewayEdge", "GatewayLimits",
                "GatewayPresence", "GatewayTesting", "HTTP", "JSON", "MessageBus", "Reactor", "RoomViews", "Security",
                "ServiceClient", "ServiceKit", "SocketIO", "TestSupport", "WebPage", "Workers",
            ]),
        wireTests(
            "Gateway",
            [
                "Contracts", "Delivery", "Edge", "EventLog", "Gateway", "GatewayCatalog", "GatewayEdge",
                "GatewayLimits", "GatewayPresence", "GatewayTesting", "HTTP", "JSON", "MessageBus", "Reactor",
                "RoomViews", "Security", "ServiceClient", "ServiceKit", "ServiceKitTesting", "Storage", "TestSupport",
                "Workers",
            ]),
        tests(
            "GatewayPresence",
            [
                "GatewayPresence", "GatewayTesting", "Contracts", "JSON", "MessageBus", "Reactor", "ServiceKit",
                "TestSupport",
            ]),
        wireTests(
            "GatewayPresence",
            ["GatewayPresence", "GatewayTesting", "Bus", "JSON", "MessageBus", "Reactor", "TestSupport"]),
        wireTests(
            "Access",
            [
                "Contracts", "JSON", "MessageBus", "ParlorServices", "ParlorTesting", "Reactor", "Security",
                "ServiceKit", "TestSupport", "Workers",
            ], exclude: ["Manifests"]),
        // Without a module of the server, so that they build wherever the client does.
        library("ClientTestSupport", in: "Tests"),
        clientTests(
            "ParlorClient", path: "Clients/ParlorClient/Tests/ParlorClientTests",
            exclude: ["Messages/interleavings.json"]),
        clientTests("ScreenModels", ["ScreenModels"]),
        clientTests("Chat", ["Chat"]),
        wireTests("ParlorClientLinux", ["LinuxWebSocket", "Reactor", "ParlorClient", "WebSocket"]),
        // ParlorClientTesting's server and the real ones: clients see the same of both.
        wireTests(
            "Parity",
            ["JSON", "LinuxWebSocket", "ParlorTesting", "ParlorClient", "ParlorClientTesting", "TestSupport"]),
    ]
        + fuzzing()
        + program(
            "Bus", executable: "parlor-bus", ["ServiceKit", "MessageBus", "Reactor", "Security"],
            besides: ["README.md", "PROTOCOL.md"])
        + services.flatMap(\.targets)
        + gateway()
        + [
            .target(
                name: "Demo",
                dependencies: [
                    "Contracts", "EventLog", "GatewayPresence", "JSON", "MessageBus", "Reactor", "Security",
                    "ServiceClient", "ServiceKit",
                ],
                path: "Services/Parlor/Demo", swiftSettings: settings),
            .target(
                name: "ParlorServices",
                dependencies: ["Demo", "Gateway", "Operations", "ServiceKit"]
                    + services.map { .target(name: $0.name) },
                path: "Services/Parlor/Services", swiftSettings: settings),
            .executableTarget(
                name: "parlor",
                dependencies: ["ParlorServices"],
                path: "Services/Parlor/Main", swiftSettings: settings),
        ],
    swiftLanguageModes: [.v6]
)

for target in package.targets {
    target.name = module(target.name)
    target.dependencies = target.dependencies.map { dependency in
        if case .byNameItem(let name, let condition) = dependency {
            return .byNameItem(name: module(name), condition: condition)
        }
        if case .targetItem(let name, let condition) = dependency {
            return .targetItem(name: module(name), condition: condition)
        }
        return dependency
    }
}

// With PARLOR_TESTS, names separated by spaces, only these test targets are in the package: so deploy/test quick builds no more
// than it runs.
if let wanted = Context.environment["PARLOR_TESTS"]?.split(separator: " ").map(String.init) {
    package.targets.removeAll { $0.type == .test && !wanted.contains($0.name) }
}
