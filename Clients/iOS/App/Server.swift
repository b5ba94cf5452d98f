import Foundation

/// The address of the app's server.
enum Server {
    // `!`: the literal is a valid address.
    static let address = URL(string: "https://parlor.example")!
}
