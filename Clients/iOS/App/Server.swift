import Foundation

/// Where the app's Parlor is.
enum Server {
    // A literal that is an address: it can be checked by reading it.
    static let address = URL(string: "https://parlor.example")!
}
