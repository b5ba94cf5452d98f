/// Why a server cannot be worked with: it is not there, or does not do as the contract says.
package struct ClientError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
