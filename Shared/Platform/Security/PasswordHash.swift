import CParlorCrypto

/// A stored password: scrypt (RFC 7914) with its salt and its cost, so that the cost can rise later.
///
/// Making or matching a hash takes a fifth of a second and 16 MiB on purpose, so never do it on an event
/// loop.
public struct PasswordHash: Sendable {
    /// The cost of one hash: 128 · N · r bytes of memory, used p times.
    public struct Cost: Sendable, Equatable {
        let logN: Int
        let r: Int
        let p: Int

        /// N = 2¹⁴, r = 8, p = 5: one of the settings of OWASP's Password Storage Cheat Sheet. It calls these settings
        /// equivalent: they trade memory for time.
        ///
        /// The time of one hash was measured on a core at 2.8 GHz, and that of two at once on two cores with
        /// other work:
        ///
        /// | N, p | memory | one | two at once |
        /// | --- | --- | --- | --- |
        /// | 2¹³, 10 | 8 MiB | as 2¹⁴, 5 | |
        /// | 2¹⁴, 5 | 16 MiB | 211 ms | 930 ms |
        /// | 2¹⁵, 3 | 32 MiB | 291 ms | 1,250 ms |
        /// | 2¹⁶, 2 | 64 MiB | 378 ms | |
        /// | 2¹⁷, 1 | 128 MiB | 403 ms | 1,980 ms |
        ///
        /// With N = 2¹⁷, two at once take all the memory that a server may use under attack.
        public static let standard = Cost(logN: 14, r: 8, p: 5)
        /// A cost for tests that are not about passwords: N = 2⁴.
        public static let forTests = Cost(logN: 4, r: 8, p: 1)

        /// Returns a cost of `factor` times the work, in the same memory.
        public func times(_ factor: Int) -> Cost { Cost(logN: logN, r: r, p: p * factor) }

        /// N · r · p, to which the time is proportional.
        private var work: Int { p * (r << logN) }

        /// Returns the cost to add to this one, so that both together take as long as `other`; nil if this one takes
        /// that long already.
        func missing(to other: Cost) -> Cost? {
            let round = other.r << other.logN
            let rounds = (other.work - work + round - 1) / round
            return rounds > 0 ? Cost(logN: other.logN, r: other.r, p: rounds) : nil
        }

        /// The limits of a stored text's cost. A bad row then takes at most 128 MiB (128 · N · r bytes).
        static let allowed = (logN: 1...17, r: 1...8, p: 1...16)
    }

    private let cost: Cost
    private let salt: [UInt8]
    private let key: [UInt8]

    private static let saltLength = 16
    private static let keyLength = 32

    /// Hashes a password with a new salt.
    ///
    /// - Throws: `PasswordHashError.outOfMemory`.
    public init(
        of password: String, cost: Cost = .standard, randomness: any Randomness
    ) throws(PasswordHashError) {
        self.cost = cost
        salt = randomness.bytes(Self.saltLength)
        key = try Self.derive(password, salt: salt, cost: cost)
    }

    /// Parses `$scrypt$ln=15,r=8,p=1$SALT$KEY`; nil for any other text.
    public init?(_ text: String) {
        let parts = text.split(separator: "$", omittingEmptySubsequences: false)
        guard parts.count == 5, parts[0].isEmpty, parts[1] == "scrypt" else { return nil }
        var parameters: [Substring: Int] = [:]
        for parameter in parts[2].split(separator: ",") {
            let pair = parameter.split(separator: "=")
            guard pair.count == 2, let value = Int(pair[1]) else { return nil }
            parameters[pair[0]] = value
        }
        guard parameters.count == 3, let logN = parameters["ln"], let r = parameters["r"], let p = parameters["p"],
            Cost.allowed.logN.contains(logN), Cost.allowed.r.contains(r), Cost.allowed.p.contains(p),
            let salt = Base64Codec.phc.decode(parts[3].utf8), !salt.isEmpty,
            let key = Base64Codec.phc.decode(parts[4].utf8), key.count == Self.keyLength
        else { return nil }
        cost = Cost(logN: logN, r: r, p: p)
        self.salt = salt
        self.key = key
    }

    /// The hash in the PHC string format, with Base64 without padding.
    public var text: String {
        let parameters = "ln=\(cost.logN),r=\(cost.r),p=\(cost.p)"
        return "$scrypt$\(parameters)$\(Base64Codec.phc.encode(salt))$\(Base64Codec.phc.encode(key))"
    }

    public func matches(_ password: String) throws(PasswordHashError) -> Bool {
        constantTimeEquals(try Self.derive(password, salt: salt, cost: cost), key)
    }

    /// Returns true if the hash was made at a lower cost than this, and so should be replaced when the password is
    /// available.
    public func isCheaper(than cost: Cost) -> Bool { self.cost.missing(to: cost) != nil }

    /// Returns whether the password is right, in the time that a hash of the given cost takes. It takes longer if the
    /// stored hash has a higher cost. So the time of an answer does not reveal whose hash is old.
    public func matches(_ password: String, takingAsLongAs cost: Cost) throws(PasswordHashError) -> Bool {
        let isRight = try matches(password)
        if let missing = self.cost.missing(to: cost) { try Self.verifyAgainstNobody(password, cost: missing) }
        return isRight
    }

    /// Takes as long as `matches`, for a name that does not exist. So the time of an answer does not reveal
    /// which names exist.
    public static func verifyAgainstNobody(_ password: String, cost: Cost = .standard) throws(PasswordHashError) {
        _ = try derive(password, salt: [UInt8](repeating: 0, count: saltLength), cost: cost)
    }

    private static func derive(_ password: String, salt: [UInt8], cost: Cost) throws(PasswordHashError) -> [UInt8] {
        let password = Array(password.utf8)
        let memory = 128 * cost.r * ((1 << cost.logN) + cost.p + 2)
        var key = [UInt8](repeating: 0, count: keyLength)
        let done = password.withUnsafeBytes { password in
            EVP_PBE_scrypt(
                password.baseAddress?.assumingMemoryBound(to: CChar.self), password.count, salt, salt.count,
                1 << UInt64(cost.logN), UInt64(cost.r), UInt64(cost.p), UInt64(memory), &key, key.count)
        }
        guard done == 1 else { throw .outOfMemory }
        return key
    }
}

/// The error of a hash. The parameters are checked before, so only memory can be missing.
public enum PasswordHashError: Error {
    case outOfMemory
}

extension Base64Codec {
    /// The PHC string format has the standard alphabet, without padding.
    fileprivate static let phc = Base64Codec(last: "+/", pads: false)
}
