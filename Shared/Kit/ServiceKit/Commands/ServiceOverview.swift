import ParlorContracts

/// The replies of all gateways to `parlor services`, in lines for a terminal.
struct ServiceOverview {
    let lines: [String]
    /// True if the gateways agree, nothing was refused, and every gateway replied.
    let isFine: Bool

    /// What one gateway said.
    private struct Gateway {
        let instance: String
        var services: [String: KnownService] = [:]
        var count: Int?

        var isComplete: Bool { count == services.count }
    }

    /// - Parameters:
    ///   - reports: those to one request, in any order.
    ///   - alive: the ids of the gateways that sent a heartbeat.
    ///   - instances: how many instances of each service reported their status; a service need not report it.
    ///   - name: the service that was asked for; nil for all.
    init(_ reports: [ServiceReport], alive: Set<String>, instances: [String: Int], of name: String?) {
        var gateways: [String: Gateway] = [:]
        for report in reports {
            var gateway = gateways[report.gateway] ?? Gateway(instance: report.instance.printable)
            switch report.content {
            case .service(let service): gateway.services[service.name] = service
            case .end(let count): gateway.count = count
            }
            gateways[report.gateway] = gateway
        }
        let all = gateways.values.sorted { $0.instance < $1.instance }
        let names = Set(all.flatMap(\.services.keys)).sorted()
        var (tables, problems): ([String], [String]) = ([], [])

        let rows = names.compactMap { Self.row(of: $0, in: all, instances: instances[$0]) }
        let header =
            ["service", "required", "instances", "known", "heard"] + ServiceOffer.Kind.allCases.map(\.rawValue)
        if !rows.isEmpty { tables.append(TextTable.text([header] + rows, named: 2)) }
        for name in names {
            guard let offer = all.compactMap({ $0.services[name]?.offer }).first(where: { $0.names != nil }) else {
                continue
            }
            tables.append(Self.names(of: offer, name))
        }

        for name in names {
            problems += Self.refusals(of: name, in: all)
            if let difference = Self.difference(in: all, about: name) { problems.append(difference) }
        }
        for gateway in all where !gateway.isComplete {
            problems.append("\(gateway.instance): a part of its reply is missing; ask again, with a longer --wait")
        }
        problems += Silence(alive.subtracting(gateways.keys)).lines
        if all.isEmpty {
            problems.append("no gateway replied")
        } else if let name, names.isEmpty {
            problems.append("no gateway knows \(name.printable)")
        }
        let end = all.isEmpty ? [] : ["gateways: \(all.map(\.instance).joined(separator: ", "))"]
        lines = (tables + problems + end)
        isFine = problems.isEmpty
    }

    /// - Returns: nil if no gateway has it.
    private static func row(of name: String, in gateways: [Gateway], instances: Int?) -> [String]? {
        let known = gateways.compactMap { $0.services[name] }
        guard let offer = known.compactMap(\.offer).first else { return nil }
        let isServed = known.contains { $0.isServed }
        // Not every service reports its status. Without reports, the gateways only know whether a request reaches an
        // instance.
        let count = instances.map { "\($0)" } ?? (isServed ? "1+" : "0")
        return [
            name.printable, known.contains { $0.isRequired } ? "yes" : "no", count,
            known.compactMap(\.known).max().map(TextTable.time) ?? "-",
            known.compactMap(\.heard).min().map(TextTable.time) ?? "-",
        ] + ServiceOffer.Kind.allCases.map { "\(offer.count(of: $0))" }
    }

    private static func names(of offer: ServiceOffer, _ service: String) -> String {
        var lines = [service.printable]
        for kind in ServiceOffer.Kind.allCases {
            // A line names one thing: `route`, not `routes`.
            for name in offer.names?[kind] ?? [] { lines.append("  \(kind.rawValue.dropLast())  \(name.printable)") }
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func refusals(of name: String, in gateways: [Gateway]) -> [String] {
        let refused = gateways.compactMap { gateway in
            gateway.services[name]?.refusal.map { (refusal: $0, instance: gateway.instance) }
        }
        return Set(refused.map(\.refusal.reason)).sorted().map { reason in
            let same = refused.filter { $0.refusal.reason == reason }
            let age = same.map(\.refusal.age).min() ?? .zero
            return """
                \(name.printable) was refused \(TextTable.time(age)) ago by \
                \(same.map(\.instance).joined(separator: ", ")): \(reason.printable)
                """
        }
    }

    private static func difference(in gateways: [Gateway], about name: String) -> String? {
        let complete = gateways.filter(\.isComplete)
        let digests = complete.map { $0.services[name]?.offer?.digest }
        guard Set(digests).count > 1 else { return nil }
        let views = zip(complete, digests).map { gateway, digest in
            digest.map { "\(gateway.instance) has \($0.prefix(8).description.printable)" }
                ?? "\(gateway.instance) does not have it"
        }
        return "gateways differ about \(name.printable): \(views.joined(separator: ", "))"
    }
}

/// The replies of all gateways to `parlor forget`, in lines for a terminal.
struct ForgettingOverview {
    let lines: [String]
    /// True if a gateway removed the service, and no other one has it.
    let isDone: Bool

    init(_ reports: [ForgettingReport], alive: Set<String>, of name: String) {
        let sorted = reports.sorted { $0.instance < $1.instance }
        let silent = alive.subtracting(reports.map(\.gateway))
        var lines = sorted.map { "\($0.instance.printable): \(Self.words(for: $0))" } + Silence(silent).lines
        let outcomes = Set(reports.map(\.outcome))
        if reports.isEmpty {
            lines.append("no gateway replied")
        } else if outcomes == [.unknown] {
            lines = ["no gateway knows \(name.printable)"] + Silence(silent).lines
        }
        self.lines = lines
        isDone = silent.isEmpty && outcomes.contains(.forgotten) && outcomes.isSubset(of: [.forgotten, .unknown])
    }

    private static func words(for report: ForgettingReport) -> String {
        switch report.outcome {
        case .forgotten: "forgotten: \(counts(of: report.offer))"
        case .notWritten:
            """
            forgotten: \(counts(of: report.offer)); but manifests.json could not be written, so it returns when this \
            gateway starts again
            """
        case .required: "refused: it is one of REQUIRED_SERVICES"
        case .announced: "refused: it still announces itself, and would come back at once; stop it first"
        case .unknown: "does not know it"
        }
    }

    private static func counts(of offer: ServiceOffer?) -> String {
        ServiceOffer.Kind.allCases.map { kind in
            let count = offer?.count(of: kind) ?? 0
            return "\(count) \(count == 1 ? String(kind.rawValue.dropLast()) : kind.rawValue)"
        }.joined(separator: ", ")
    }
}

/// Gateways that sent a heartbeat and no reply.
private struct Silence {
    let lines: [String]

    init(_ gateways: Set<String>) {
        lines = gateways.sorted().map {
            "gateway \($0.printable) did not reply: it is of an earlier release, or too slow for --wait"
        }
    }
}

extension String {
    /// The text without control characters: a service must not control the operator's terminal through its names.
    var printable: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: "?"
                    default: scalar
                    }
                }))
    }
}
