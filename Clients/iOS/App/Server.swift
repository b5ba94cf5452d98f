import Foundation

/// The address of the app's Parlor.
enum Server {
    // A literal; reading it shows that it is a valid address.
    static let address = URL(string: "https://parlor.example")!
}
