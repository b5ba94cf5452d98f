import Foundation
import Testing

/// Runs the targets on the starting corpora of deploy/fuzz, without a fuzzer. Each target's invariants
/// hold for its inputs, whole and truncated at several lengths.
@Suite("fuzz corpora")
struct CorpusTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Corpus")

    private static func corpus(of target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        let files = try FileManager.default.contentsOfDirectory(
            at: folder.appending(path: target.name), includingPropertiesForKeys: nil)
        return try files.map { ($0.lastPathComponent, Array(try Data(contentsOf: $0))) }
    }

    @Test("every input keeps its target's rule", arguments: FuzzTarget.all.map(\.name))
    func corpus(name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let corpus = try Self.corpus(of: target)
        #expect(!corpus.isEmpty)
        for (file, bytes) in corpus {
            #expect(bytes.count <= target.maxLength, "\(file) is longer than what is tried")
            let ends = stride(from: bytes.count, through: 0, by: -max(1, bytes.count / 4))
            for end in ends {
                #expect(throws: Never.self, "\(file), its first \(end) bytes") { try target.run(Array(bytes[..<end])) }
            }
        }
    }

    @Test("every corpus and every dictionary belongs to a target")
    func names() throws {
        let names = Set(FuzzTarget.all.map(\.name))
        #expect(names.count == FuzzTarget.all.count)
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: Self.folder.path())) == names)
        let dictionaries = Self.folder.deletingLastPathComponent().appending(path: "Dictionaries").path()
        for file in try FileManager.default.contentsOfDirectory(atPath: dictionaries) {
            #expect(file.hasSuffix(".dict") && names.contains(String(file.dropLast(5))), "\(file)")
        }
    }
}
