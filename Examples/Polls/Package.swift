// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Polls",
    // Parlor from its repository: .package(url: "https://…/parlor.git", branch: "main")
    dependencies: [.package(name: "parlor", path: "../..")],
    targets: [
        .target(
            name: "Polls", dependencies: [.product(name: "ParlorServiceKit", package: "parlor")],
            swiftSettings: settings),
        // Parlor with polls, all of it in one process.
        .executableTarget(
            name: "parlor-with-polls",
            dependencies: ["Polls", .product(name: "ParlorServices", package: "parlor")], swiftSettings: settings),
        // Polls alone, beside a Parlor of separate processes.
        .executableTarget(
            name: "parlor-polls", dependencies: ["Polls", .product(name: "ParlorServiceKit", package: "parlor")],
            swiftSettings: settings),
        .testTarget(
            name: "PollsTests", dependencies: ["Polls", .product(name: "ParlorServiceKitTesting", package: "parlor")],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)

// As in Parlor: an async function runs where its caller does, unless it says otherwise.
var settings: [SwiftSetting] { [.enableUpcomingFeature("NonisolatedNonsendingByDefault")] }
