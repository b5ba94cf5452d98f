import ParlorContracts

/// The gateway's own routes and events, in the form of a service's manifest and description.
package struct OwnAPI: Sendable {
    /// The form of a route's answer.
    package enum Form: Sendable {
        /// The value itself, without the contract's envelope. An answer with the status 304 has no value.
        case bare(Schema, statuses: [Int] = [200])
        /// Text of this type.
        case text(_ type: String)
    }

    /// A field of a service's contribution, with its schema if the service describes it.
    package typealias ContributedField = (field: Contribution.Field, schema: Schema?)

    let manifest: Manifest
    let description: ServiceDescription
    /// The answers that are not in the contract's envelope, by subject.
    let forms: [String: Form]
    /// Returns the schema of a Room with the services' fields.
    let room: @Sendable ([ContributedField]) -> Schema

    package init(
        _ manifest: Manifest, _ description: ServiceDescription, forms: [String: Form],
        room: @escaping @Sendable ([ContributedField]) -> Schema
    ) {
        self.manifest = manifest
        self.description = description
        self.forms = forms
        self.room = room
    }
}
