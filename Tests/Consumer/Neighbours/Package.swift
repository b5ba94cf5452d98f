// swift-tools-version: 6.2
import PackageDescription

// Stands for other packages of an app: their modules have common names, and the client library may have none of these.
let package = Package(
    name: "neighbours",
    products: [.library(name: "Neighbours", targets: ["HTTP", "JSON", "Security"])],
    targets: [.target(name: "HTTP"), .target(name: "JSON"), .target(name: "Security")]
)
