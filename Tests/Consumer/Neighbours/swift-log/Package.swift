// swift-tools-version: 6.2
import PackageDescription

// Stands for swift-log, by the names of its package and its target.
let package = Package(
    name: "swift-log",
    products: [.library(name: "Logging", targets: ["Logging"])],
    targets: [.target(name: "Logging")]
)
