// swift-tools-version: 6.2
import PackageDescription

// Stands for other packages of an app, such as swift-log: their modules have common names, and none of Parlor's may be one of them.
let package = Package(
    name: "neighbours",
    products: [.library(name: "Neighbours", targets: ["HTTP", "JSON", "Logging"])],
    targets: [.target(name: "HTTP"), .target(name: "JSON"), .target(name: "Logging")]
)
