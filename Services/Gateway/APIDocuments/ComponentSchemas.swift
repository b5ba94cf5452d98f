import ParlorContracts
import ParlorGatewayCatalog
import ParlorJSON

/// The named schemas of a document. Schemas of the gateway and of required services keep their plain names (`NAME`).
/// Another service's are `SERVICE.NAME`, so no name changes when a service is added. A required service's schema is
/// `SERVICE.NAME`, too, if it differs from an earlier one of the same name.
struct ComponentSchemas: Sendable {
    private struct Component: Sendable {
        let schema: Schema
        let service: String
    }

    private var components: [String: Component] = [:]
    /// The limit of the schemas of services, in bytes. Others are left out, and whatever refers to them accepts
    /// any value.
    static let maxBytes = 1 << 20

    /// The components' names, by service and by the schema's name in that service.
    private var names: [String: [String: String]] = [:]

    init(own: [String: Schema], of services: [(name: String, isRequired: Bool, schemas: [String: Schema])]) {
        for (name, schema) in own { components[name] = Component(schema: schema, service: Self.gateway) }
        var size = 0
        for service in services {
            for (name, schema) in service.schemas.sorted(by: { $0.key < $1.key }) {
                size += Self.size(of: schema, from: service.name)
                guard size <= Self.maxBytes else { return }
                var component = service.isRequired ? name : Self.qualified(name, by: service.name)
                if let other = components[component], other.schema != schema {
                    component = Self.qualified(name, by: service.name)
                }
                if components[component] == nil {
                    components[component] = Component(schema: schema, service: service.name)
                }
                names[service.name, default: [:]][name] = component
            }
        }
    }

    static let gateway = Catalog.gateway
    private static let path = "#/components/schemas/"

    static func qualified(_ name: String, by service: String) -> String { "\(service).\(name)" }

    /// Returns an upper bound of the size in a document: it counts references with their longer, qualified names.
    private static func size(of schema: Schema, from service: String) -> Int {
        JSONWriter.value { json in schema.write(to: &json) { path + qualified($0, by: service) } }.bytes.count
    }

    /// Returns the `$ref` for a reference in a service's schema; nil if there is no such schema.
    func reference(_ name: String, in service: String) -> String? {
        component(name, in: service).map { Self.path + $0 }
    }

    private func component(_ name: String, in service: String) -> String? {
        if let dot = name.firstIndex(of: ".") {
            return component(String(name[name.index(after: dot)...]), in: String(name[..<dot]))
        }
        return names[service]?[name] ?? (components[name] == nil ? nil : name)
    }

    func write(_ schema: Schema, of service: String, to json: inout JSONWriter) {
        schema.write(to: &json) { reference($0, in: service) }
    }

    /// Returns the members of an object. The schema may be a reference to the object.
    func members(of schema: Schema, in service: String) -> [Schema.Member] {
        guard let name = schema.reference else { return schema.members }
        return component(name, in: service).flatMap { components[$0]?.schema.members } ?? []
    }

    /// Writes the member `schemas`.
    func write(to json: inout JSONWriter) {
        json.member(
            "schemas",
            object: { json in
                for (name, component) in components.sorted(by: { $0.key < $1.key }) {
                    json.name(name)
                    write(component.schema, of: component.service, to: &json)
                }
            })
    }
}
