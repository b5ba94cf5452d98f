// swift-tools-version: 6.2
import PackageDescription

// The dependency rule lives here: a service depends on Shared targets only, never on another service, and
// nothing in Shared depends on Services. `dependencies` stays empty: what is not ours comes from the toolchain
// or from a C library that every Linux ships.

// A newer compiler knows new warnings: news for us, but no reason not to build for someone who has it.
#if compiler(<6.4)
    let warnings: [SwiftSetting] = [.treatAllWarnings(as: .error)]
#else
    let warnings: [SwiftSetting] = []
#endif
let settings = [.enableUpcomingFeature("NonisolatedNonsendingByDefault")] + warnings

/// A target in Shared/.
func shared(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Shared/\(name)", exclude: ["README.md"], swiftSettings: settings)
}

/// A C library of the system behind a module map in Shared/.
func system(_ name: String, apt package: String? = nil) -> Target {
    .systemLibrary(name: name, path: "Shared/\(name)", providers: package.map { [.apt([$0])] })
}

/// A C library of the system that is loaded when it is first needed: in Shared/, functions of the same names call it.
func loaded(_ name: String) -> Target { .target(name: name, path: "Shared/\(name)") }

/// The logic of a service in Services/, and the executable that wires it up.
func service(
    _ name: String, executable: String, _ dependencies: [Target.Dependency], documents: [String] = ["README.md"]
) -> [Target] {
    [
        .target(
            name: name, dependencies: dependencies, path: "Services/\(name)", exclude: documents + ["Main"],
            swiftSettings: settings),
        .executableTarget(
            name: executable, dependencies: [.target(name: name), "ServiceKit"], path: "Services/\(name)/Main",
            swiftSettings: settings),
    ]
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: "\(name)Tests", dependencies: dependencies, path: "Tests/\(name)", swiftSettings: settings)
}

/// The fuzz targets in Tests/Fuzz: tests that replay their corpora, or, if the environment has FUZZ, the program that deploy/fuzz
/// links with libFuzzer. Never both: a file belongs to one target.
func fuzzing() -> [Target] {
    let dependencies: [Target.Dependency] = [
        "Accounts", "Bus", "Contracts", "Edge", "Gateway", "HTTP", "JSON", "MessageBus", "Messaging", "Push", "Reactor",
        "Security", "ServiceKit", "SocketIO", "WebClient", "WebSocket",
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

let package = Package(
    name: "parlor",
    platforms: [.iOS(.v17), .macOS(.v14)],
    products: [
        .library(name: "RoomsClient", targets: ["RoomsClient"]),
        .library(name: "RoomsClientTesting", targets: ["RoomsClientTesting"]),
    ],
    dependencies: [],
    targets: [
        system("CLinux"),
        system("CSQLite", apt: "libsqlite3-dev"),
        system("CCrypto", apt: "libssl-dev"),
        loaded("CPostgres"),
        loaded("CCurl"),
        shared("Text"),
        shared("JSON", ["Text"]),
        shared("Security", ["CCrypto", "JSON"]),
        shared("Reactor", ["CLinux", "Workers"]),
        shared("HTTP", ["Text"]),
        shared("WebSocket", ["Security"]),
        shared("SocketIO", ["JSON", "Security"]),
        shared("Edge", ["Reactor", "HTTP", "WebSocket", "SocketIO", "JSON", "Security"]),
        shared("MessageBus", ["JSON", "Reactor"]),
        shared("WebClient", ["CCurl", "Workers"]),
        shared("Workers", ["CLinux"]),
        shared("Storage", ["CPostgres", "CSQLite", "JSON", "Workers"]),
        shared("Contracts", ["JSON"]),
        // For apps, too: on their systems it stands on Foundation alone.
        shared(
            "RoomsClient",
            ["Reactor", "Security", "WebSocket"].map { .target(name: $0, condition: .when(platforms: [.linux])) }),
        shared("RoomsClientTesting", ["RoomsClient"]),
        shared(
            "ServiceKit",
            [
                "Contracts", "Edge", "HTTP", "JSON", "MessageBus", "Reactor", "Security", "SocketIO", "Storage",
                "Workers",
            ]),
        .target(
            name: "TestSupport", dependencies: ["Storage", "Workers"], path: "Tests/Support", swiftSettings: settings),
        .executableTarget(
            name: "protocol-echo", dependencies: ["Edge", "Reactor", "HTTP", "SocketIO", "JSON"],
            path: "Tests/Conformance/protocol-echo", swiftSettings: settings),
        .target(
            name: "TestClients", dependencies: ["JSON", "Reactor", "Security", "WebSocket"], path: "Tests/Clients",
            swiftSettings: settings),
        .executableTarget(name: "bench-floor", path: "Tests/Floor"),
        .executableTarget(
            name: "parlor-bench",
            dependencies: [
                "CSQLite", "JSON", "Messaging", "Reactor", "RoomsClient", "Security", "Storage", "TestClients",
                "TestSupport", "WebSocket",
            ],
            path: "Tests/Load",
            exclude: ["README.md", "figures.json", "play-apple"], swiftSettings: settings),
        tests("Bench", ["parlor-bench"]),
        .executableTarget(
            name: "parlor-drill",
            dependencies: [
                "Contracts", "Elements", "JSON", "Messaging", "Reactor", "Rooms", "ServiceKit", "Storage",
                "TestClients", "TestSupport",
            ],
            path: "Tests/Faults", exclude: ["README.md"], swiftSettings: settings),
        tests("Drill", ["parlor-drill", "TestSupport"]),
        tests("Text", ["Text"]),
        tests("JSON", ["JSON", "TestSupport", "Text"]),
        tests("Contracts", ["Contracts", "JSON", "TestSupport"]),
        tests(
            "ServiceKit",
            ["ServiceKit", "Contracts", "JSON", "MessageBus", "Reactor", "Storage", "TestSupport", "Workers"]),
        tests("Security", ["Security", "JSON", "TestSupport"]),
        tests("Reactor", ["Reactor", "TestSupport", "Workers"]),
        tests("HTTP", ["HTTP", "TestSupport"]),
        tests("WebSocket", ["TestSupport", "WebSocket"]),
        tests("SocketIO", ["SocketIO", "JSON", "TestSupport"]),
        tests("Edge", ["Edge", "Reactor", "HTTP", "WebSocket", "SocketIO", "JSON", "TestSupport"]),
        tests("MessageBus", ["MessageBus", "JSON", "Reactor"]),
        tests("WebClient", ["WebClient", "Reactor", "TestSupport"]),
        tests("Workers", ["Workers"]),
        tests("RoomsClient", ["Reactor", "RoomsClient", "RoomsClientTesting", "TestSupport", "WebSocket"]),
        .target(
            name: "Chat", dependencies: ["RoomsClient"], path: "Clients/Chat", exclude: ["README.md", "Main"],
            swiftSettings: settings),
        .executableTarget(
            name: "parlor-chat", dependencies: ["Chat"], path: "Clients/Chat/Main", swiftSettings: settings),
        tests("Chat", ["Chat", "RoomsClientTesting", "TestSupport"]),
        .executableTarget(
            name: "client-journey", dependencies: ["RoomsClient"], path: "Tests/Journey",
            exclude: ["README.md"], swiftSettings: settings),
        tests("Storage", ["Storage", "JSON", "TestSupport", "Workers"]),
        tests(
            "Bus",
            [
                "Accounts", "Bus", "Contracts", "Elements", "Gateway", "JSON", "MessageBus", "Messaging", "Push",
                "Reactor",
                "Rooms", "Security", "ServiceKit", "TestSupport",
            ]),
        tests(
            "Accounts",
            [
                "Accounts", "ServiceKit", "Contracts", "JSON", "MessageBus", "Reactor", "Security", "Storage",
                "TestSupport", "Workers",
            ]),
        tests("Rooms", ["Rooms", "ServiceKit", "Contracts", "JSON", "MessageBus", "Reactor", "Storage", "Workers"]),
        tests(
            "Elements",
            ["Elements", "ServiceKit", "Contracts", "JSON", "MessageBus", "Reactor", "Storage", "Workers"]),
        tests(
            "Messaging",
            [
                "Messaging", "ServiceKit", "Contracts", "JSON", "MessageBus", "Reactor", "Security", "Storage",
                "TestSupport", "Workers",
            ]),
        tests(
            "Push",
            [
                "Push", "ServiceKit", "Contracts", "JSON", "MessageBus", "Reactor", "Security", "Storage",
                "TestSupport",
                "Workers",
            ]),
        tests(
            "Gateway",
            [
                "Gateway", "Bus", "ServiceKit", "Contracts", "HTTP", "JSON", "MessageBus", "Reactor", "Security",
                "SocketIO", "Storage", "TestSupport", "Workers",
            ]),
        tests(
            "Access",
            [
                "Accounts", "Elements", "Gateway", "Messaging", "Push", "Rooms", "ServiceKit", "Contracts", "JSON",
                "MessageBus", "Reactor", "Security", "TestSupport", "Workers",
            ]),
    ]
        + fuzzing()
        + service(
            "Bus", executable: "parlor-bus", ["ServiceKit", "MessageBus", "Reactor", "Security"],
            documents: ["README.md", "PROTOCOL.md"])
        + service(
            "Accounts", executable: "parlor-accounts",
            ["ServiceKit", "Contracts", "JSON", "MessageBus", "Reactor", "Security", "Storage", "Workers"])
        + service(
            "Messaging", executable: "parlor-messaging",
            ["ServiceKit", "Contracts", "JSON", "MessageBus", "Security", "Storage", "Workers"])
        + service(
            "Gateway", executable: "parlor-gateway",
            [
                "ServiceKit", "Contracts", "Edge", "HTTP", "JSON", "MessageBus", "Reactor", "Security", "SocketIO",
                "Workers",
            ])
        + service(
            "Rooms", executable: "parlor-rooms",
            ["ServiceKit", "Contracts", "JSON", "MessageBus", "Security", "Storage"])
        + service(
            "Elements", executable: "parlor-elements",
            ["ServiceKit", "Contracts", "JSON", "MessageBus", "Security", "Storage"])
        + service(
            "Push", executable: "parlor-push",
            ["ServiceKit", "Contracts", "JSON", "MessageBus", "Reactor", "Security", "Storage", "WebClient", "Workers"])
        + [
            .executableTarget(
                name: "parlor",
                dependencies: ["Accounts", "Elements", "Gateway", "Messaging", "Push", "Rooms", "ServiceKit"],
                path: "Services/Parlor/Main", swiftSettings: settings)
        ],
    swiftLanguageModes: [.v6]
)
