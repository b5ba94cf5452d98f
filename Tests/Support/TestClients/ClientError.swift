/// The reason why a server cannot be used: it is absent, or violates the contract.
package struct ClientError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
