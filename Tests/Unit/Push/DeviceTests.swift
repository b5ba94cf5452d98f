import Contracts
import ServiceKit
import Testing

@testable import Push

@Suite("Devices")
struct DeviceTests {
    @Test("the first time is 201, again is 200, another environment too")
    func registering() async throws {
        try await PushWorld.serving { world in
            #expect(try await world.register("token") == .created)
            #expect(try await world.register("token") == .ok)
            #expect(try await world.register("token", environment: "sandbox") == .ok)
            try await world.unregister("token")
            #expect(try await world.devices() == [])
            #expect(try await world.register("token") == .created)
        }
    }

    @Test("a device is whose who registered it last, and nobody else can remove it")
    func owner() async throws {
        try await PushWorld.serving { world in
            _ = try await world.register("token", by: PushWorld.ada)
            #expect(try await world.register("token", by: PushWorld.ben) == .created)
            try await world.unregister("token", by: PushWorld.ada)
            try await world.unregister("unknown", by: PushWorld.ada)
            #expect(try await world.devices(of: PushWorld.ada) == [])
            #expect(try await world.devices(of: PushWorld.ben) == ["token"])
        }
    }

    @Test("a person has 25: the one that was registered least recently gives way")
    func limit() async throws {
        try await PushWorld.serving { world in
            for number in 10..<35 {
                _ = try await world.register("token-\(number)")
                world.clock.advance(by: .seconds(1))
            }
            _ = try await world.register("token-10")
            world.clock.advance(by: .seconds(1))
            #expect(try await world.register("token-99") == .created)
            let devices = try await world.devices()
            #expect(devices.count == 25 && !devices.contains("token-11") && devices.contains("token-10"))
            #expect(try await world.register("other", by: PushWorld.ada) == .created)
            #expect(try await world.devices().count == 25)
        }
    }

    @Test(
        "what makes no device is refused, and the field is named",
        arguments: [
            (#""platform":"ios","environment":"sandbox""#, "token", ErrorCode.invalidField),
            (#""token":"","platform":"ios","environment":"sandbox""#, "token", .invalidField),
            (#""token":"with space","platform":"ios","environment":"sandbox""#, "token", .invalidField),
            (#""token":"é","platform":"ios","environment":"sandbox""#, "token", .invalidField),
            (#""token":5,"platform":"ios","environment":"sandbox""#, "token", .malformedRequest),
            (#""token":"t","environment":"sandbox""#, "platform", .invalidField),
            (#""token":"t","platform":"amiga","environment":"sandbox""#, "platform", .invalidField),
            (#""token":"t","platform":"ios""#, "environment", .invalidField),
            (#""token":"t","platform":"ios","environment":"nowhere""#, "environment", .invalidField),
        ])
    func refusals(json: String, field: String, code: ErrorCode) async throws {
        try await PushWorld.serving { world in
            let error = try await world.refusal("push.register", by: PushWorld.ben, json: "{\(json)}")
            #expect(error?.code == code)
            #expect(error?.message.contains(field) == true)
            let devices = try await world.devices()
            #expect(devices.isEmpty)
        }
    }

    @Test("nobody registers without having logged in")
    func unauthenticated() async throws {
        try await PushWorld.serving { world in
            for subject in ["push.register", "push.unregister"] {
                let error = try await world.refusal(subject, by: nil, json: #"{"token":"t"}"#)
                #expect(error?.code == .unauthenticated)
            }
        }
    }
}
