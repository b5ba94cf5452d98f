import ParlorContracts
import ParlorGatewayCatalog
import ParlorJSON

/// Everything that the documents show: what the gateway and the services offer, in the order in which it is
/// shown.
struct APIContents: Sendable {
    /// What one service offers, or the gateway.
    struct Offer: Sendable {
        let manifest: Manifest
        let description: ServiceDescription
        let forms: [String: OwnAPI.Form]

        var service: String { manifest.service }

        func request(_ subject: String) -> RequestDescription? { description.requests[subject] }
    }

    let offers: [Offer]
    let schemas: ComponentSchemas
    /// The values of `sort` for lists of rooms.
    let sorts: [String]

    /// - Parameter descriptions: those of services that have one, by service.
    init(_ catalog: Catalog, _ descriptions: [String: ServiceDescription], own: OwnAPI) {
        // Required services come first, as a document has a size limit: other services cannot crowd them out.
        let services =
            catalog.services.filter { catalog.isRequired($0.service) }
            + catalog.services.filter { !catalog.isRequired($0.service) }
        let offers =
            [Offer(manifest: own.manifest, description: own.description, forms: own.forms)]
            + services.map {
                Offer(manifest: $0, description: descriptions[$0.service] ?? ServiceDescription(), forms: [:])
            }
        let fields = Self.fields(of: offers)
        let room = own.room(fields)
        self.offers = offers
        schemas = ComponentSchemas(
            own: [own.description.schemas, room.definitions, APIError.schema.definitions, APIError.ack.definitions]
                .reduce(into: [:]) { $0.merge($1) { $1 } },
            of: offers.dropFirst().map { offer in
                let isRequired = catalog.isRequired(offer.service)
                var schemas = offer.description.schemas
                if isRequired {
                    for kind in ShownObject.allCases {
                        schemas[kind.name] = schemas[kind.name]?.adding(Self.fields(ofObject: kind, offers))
                    }
                }
                return (offer.service, isRequired, schemas)
            })
        sorts =
            ["activity", "content"]
            + fields.compactMap { if case .activity(_, let sort) = $0.field.role { sort } else { nil } }
    }

    /// The size limit of all field schemas of one kind of object, in bytes. Beyond it, a field gets a plain schema:
    /// that of a time, or one derived from its default value (`zero`).
    private static let maxFieldBytes = 256 << 10

    private static func fields(of offers: [Offer]) -> [OwnAPI.ContributedField] {
        fields(of: offers.map { ($0.service, $0.manifest.contribution, $0.description.fields) })
    }

    /// Returns the fields that services add to messages or people. They are optional, as messages in events lack them.
    private static func fields(ofObject kind: ShownObject, _ offers: [Offer]) -> [Schema.Member] {
        let all = offers.map { offer in
            (offer.service, offer.manifest.objectContributions[kind], offer.description.objectFields[kind] ?? [:])
        }
        return fields(of: all).map { field, schema in
            Schema.Member(
                field.path, field.kind == .time ? Schema.time.orNull : schema ?? field.plainSchema, isRequired: false)
        }
    }

    private static func fields(
        of contributions: [(service: String, contribution: Contribution?, schemas: [String: Schema])]
    ) -> [OwnAPI.ContributedField] {
        var size = 0
        return contributions.flatMap { service, contribution, schemas in
            (contribution?.fields ?? []).map { field in
                // The schema refers to this service's own schemas, but is shown in another service's object,
                // so qualify the names.
                let schema = schemas[field.path]?.renamingReferences { ComponentSchemas.qualified($0, by: service) }
                size += schema?.json.bytes.count ?? 0
                return (field: field, schema: size <= maxFieldBytes ? schema : nil)
            }
        }
    }

    /// Writes the member `info`, which both documents have.
    static func writeInfo(_ introduction: String, to json: inout JSONWriter) {
        json.member(
            "info",
            object: {
                $0.member("title", "Parlor")
                $0.member("version", "1")
                $0.member("description", introduction)
            })
    }
}
