// swift-tools-version: 6.2
import PackageDescription

// The package of an app that adds the client library by git address and version. deploy/test-consumer makes the
// repository.

/// The default in a new project of Xcode 26.
let settings: [SwiftSetting] = [.defaultIsolation(MainActor.self)]
let library: Target.Dependency = .product(name: "ParlorClient", package: "parlor-client")

let package = Package(
    name: "Consumer",
    platforms: [.iOS(.v17), .macOS(.v14)],
    dependencies: [
        .package(
            url: Context.environment["PARLOR_CLIENT"] ?? "https://parlor.example/parlor-client.git", from: "0.2.0"),
        .package(path: "Neighbours"),
        .package(path: "Neighbours/swift-log"),
    ],
    targets: [
        .executableTarget(
            name: "App",
            dependencies: [
                library, .product(name: "Neighbours", package: "neighbours"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: settings),
        // What has previews and tests, and is not released.
        .executableTarget(
            name: "Previews",
            dependencies: [library, .product(name: "ParlorClientTesting", package: "parlor-client")],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
