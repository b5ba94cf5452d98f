import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

extension ExtensionTokensTests {
    @Test("app and extension at random, on networks that fail: nobody is ever signed out")
    func chaos() async throws {
        for seed in Seeds.first(30) { try await Self().run(UInt64(seed)) }
    }

    private static let rounds = 20

    private func run(_ seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        var app = try app()
        for _ in 0..<Self.rounds {
            for device in [phone, extensionPhone] {
                switch Int.random(in: 0..<6, using: &random) {
                case 0: device.loseNextAnswer()
                case 1: device.loseNextRequests()
                default: break
                }
                device.delayAnswers(by: .milliseconds(Int.random(in: 0..<3, using: &random) * 500))
            }
            if Int.random(in: 0..<5, using: &random) == 0 { app = try self.app() }
            let isRefused = Bool.random(using: &random)
            let token = try kept().token
            let tasks = (0..<Int.random(in: 1...3, using: &random)).map { _ in
                let tokens: any TokenProvider = Bool.random(using: &random) ? app : appExtension()
                return Task { isRefused ? try await tokens.token(replacing: token) : try await tokens.token() }
            }
            for task in tasks { _ = await result(of: task) }
            // Repeats a refresh whose answer was lost, before its minute is over. Faults add up while no request is
            // sent, and each try uses up one of them.
            phone.delayAnswers(by: .zero)
            for _ in 0..<Self.rounds {
                guard try store.load().current?.refreshAttemptID != nil, let token = await app.session?.token else {
                    break
                }
                // This is the app's own token. An extension may have renewed the stored one, which the app has not
                // noticed.
                _ = try? await app.token(replacing: token)
            }
            #expect(await app.session != nil, "seed \(seed)")
            #expect(try kept().refreshAttemptID == nil, "seed \(seed)")
            await clock.advance(by: .seconds(Int.random(in: 0..<20, using: &random) * 60))
        }
        extensionPhone.delayAnswers(by: .zero)
        // Uses up the faults that are left.
        for device in [phone, extensionPhone] {
            while case .failure(ClientFailure.offline) = await Self.attempt(on: device) {}
        }
        try await expectAlive(app)
    }

    private static func attempt(on device: ScriptedDevice) async -> Result<Session, any Error> {
        do {
            return .success(try await AccountsAPI(transport: device).logIn(username: "nobody", password: "nothing"))
        } catch {
            return .failure(error)
        }
    }
}
