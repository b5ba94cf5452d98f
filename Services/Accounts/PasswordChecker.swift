import Contracts
import Security
import Workers

/// Hashes and checks passwords on threads of its own: each takes a tenth of a second of a core and 32 MiB.
struct PasswordChecker: Sendable {
    let workers: WorkerPool
    let cost: PasswordHash.Cost
    let randomness: any Randomness

    func hash(_ password: Password) async throws -> String {
        try await run { [cost, randomness] in
            try PasswordHash(of: password.text, cost: cost, randomness: randomness).text
        }
    }

    /// Takes as long whether there is a hash or not.
    /// - Parameter hash: as `hash(_:)` made it; nil for a person who does not exist.
    func check(_ password: String, against hash: String?) async throws -> Bool {
        // Longer than any password can be: not worth the work, and no secret.
        guard password.utf8.count <= Password.lengths.upperBound else { return false }
        return try await run { [cost] in
            guard let hash, let stored = PasswordHash(hash) else {
                try PasswordHash.verifyAgainstNobody(password, cost: cost)
                return false
            }
            return try stored.matches(password)
        }
    }

    private func run<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
        do {
            return try await workers.run(body)
        } catch is BlockingQueueError {
            throw ServiceError(.serviceUnavailable, "Too many people are signing in at once. Try again.")
        }
    }
}
