import CParlorPostgres

/// Parameters in libpq's form: their types, and the position of each one's bytes.
struct PostgresParameters {
    /// The numbers of the sent types in `pg_type`, which never change.
    private enum TypeID {
        static let bytes: Oid = 17
        static let int: Oid = 20
        static let text: Oid = 25
    }

    /// The types; 0 if the server has to infer it, as for NULL.
    private(set) var types: [Oid] = []
    private var formats: [Int32] = []
    private var lengths: [Int32] = []
    private var starts: [Int?] = []
    private var content: [CChar] = []

    init() {}

    init(_ values: [SQLValue]) throws(StorageError) {
        for value in values {
            switch value {
            case .null: append(nil as [UInt8]?, type: 0, isBinary: false)
            case .int(let value): append("\(value)".utf8, type: TypeID.int, isBinary: false)
            case .text(let text): try append(text: text.utf8)
            case .json(let value): try append(text: value.bytes)
            case .bytes(let bytes): append(bytes, type: TypeID.bytes, isBinary: true)
            }
        }
    }

    private mutating func append(text: some Collection<UInt8>) throws(StorageError) {
        if text.contains(0) { throw .unstorableText }
        append(text, type: TypeID.text, isBinary: true)
    }

    private mutating func append(_ bytes: (some Collection<UInt8>)?, type: Oid, isBinary: Bool) {
        types.append(type)
        formats.append(isBinary ? 1 : 0)
        lengths.append(Int32(clamping: bytes?.count ?? 0))
        starts.append(bytes == nil ? nil : content.count)
        guard let bytes else { return }
        content.append(contentsOf: bytes.lazy.map { CChar(bitPattern: $0) })
        // Values in text form end with a NUL.
        content.append(0)
    }

    /// Sends a prepared statement with these parameters.
    ///
    /// - Returns: false if it could not be queued.
    func send(_ statement: String, on connection: OpaquePointer?) -> Bool {
        content.withUnsafeBufferPointer { content in
            let values = starts.map { start in start.flatMap { start in content.baseAddress.map { $0 + start } } }
            return PQsendQueryPrepared(connection, statement, Int32(values.count), values, lengths, formats, 0) != 0
        }
    }
}
