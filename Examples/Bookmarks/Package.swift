// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Bookmarks",
    // Parlor from its repository: .package(url: "https://…/parlor.git", branch: "main")
    dependencies: [.package(name: "parlor", path: "../..")],
    targets: [
        .target(
            name: "Bookmarks", dependencies: [.product(name: "ParlorServiceKit", package: "parlor")],
            swiftSettings: settings),
        // Parlor with bookmarks, all of it in one process.
        .executableTarget(
            name: "parlor-with-bookmarks",
            dependencies: ["Bookmarks", .product(name: "ParlorServices", package: "parlor")], swiftSettings: settings),
        // Bookmarks alone, beside a Parlor of separate processes.
        .executableTarget(
            name: "parlor-bookmarks",
            dependencies: ["Bookmarks", .product(name: "ParlorServiceKit", package: "parlor")],
            swiftSettings: settings),
        .testTarget(
            name: "BookmarksTests",
            dependencies: ["Bookmarks", .product(name: "ParlorServiceKitTesting", package: "parlor")],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)

// As in Parlor: an async function runs where its caller does, unless it says otherwise.
var settings: [SwiftSetting] { [.enableUpcomingFeature("NonisolatedNonsendingByDefault")] }
