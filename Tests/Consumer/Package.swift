// swift-tools-version: 6.2
import PackageDescription

// A package as an app's team has it: it knows Parlor by a git address and a version. deploy/test-consumer makes both.
let package = Package(
    name: "Consumer",
    platforms: [.iOS(.v17), .macOS(.v14)],
    dependencies: [
        .package(url: Context.environment["PARLOR_REPOSITORY"] ?? "https://parlor.example/parlor.git", from: "1.0.0")
    ],
    targets: [
        .executableTarget(
            name: "App",
            dependencies: [.product(name: "RoomsClient", package: "parlor")],
            // As a new project of Xcode 26 has it.
            swiftSettings: [.defaultIsolation(MainActor.self)])
    ],
    swiftLanguageModes: [.v6]
)
