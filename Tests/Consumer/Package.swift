// swift-tools-version: 6.2
import PackageDescription

// The package of an app that depends on Parlor by a git address and a version. deploy/test-consumer makes the
// repository and the version.
let package = Package(
    name: "Consumer",
    platforms: [.iOS(.v17), .macOS(.v14)],
    dependencies: [
        .package(url: Context.environment["PARLOR_REPOSITORY"] ?? "https://parlor.example/parlor.git", from: "1.0.0"),
        .package(path: "Neighbours"),
    ],
    targets: [
        .executableTarget(
            name: "App",
            dependencies: [
                .product(name: "ParlorClient", package: "parlor"), .product(name: "Neighbours", package: "neighbours"),
            ],
            // This is the default in a new project of Xcode 26.
            swiftSettings: [.defaultIsolation(MainActor.self)])
    ],
    swiftLanguageModes: [.v6]
)
