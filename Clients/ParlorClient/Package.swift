// swift-tools-version: 6.2
import PackageDescription

// The client library as apps add it, without anything of the server. The manifest of Parlor's repository builds the
// same folders, so a target or a setting that changes here changes there, too.
let settings: [SwiftSetting] = [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]

let package = Package(
    name: "ParlorClient",
    platforms: [.iOS(.v17), .macOS(.v14), .tvOS(.v17), .visionOS(.v1), .watchOS(.v10)],
    products: [
        .library(name: "ParlorClient", targets: ["ParlorClient"]),
        .library(name: "ParlorClientTesting", targets: ["ParlorClientTesting"]),
    ],
    targets: [
        .target(name: "ParlorClient", resources: [.process("PrivacyInfo.xcprivacy")], swiftSettings: settings),
        .target(
            name: "ParlorClientTesting", dependencies: ["ParlorClient"], exclude: ["README.md"],
            swiftSettings: settings),
        .target(name: "ClientTestSupport", path: "Tests/ClientTestSupport", swiftSettings: settings),
        .testTarget(
            name: "ParlorClientTests", dependencies: ["ClientTestSupport", "ParlorClient", "ParlorClientTesting"],
            exclude: ["Messages/interleavings.json"], swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)
