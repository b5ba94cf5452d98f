import Operations
import Push
import ServiceKit

await Program(
    "parlor-push", "Devices, and notifications to those that are asleep.", [.service(PushService.self), .operations]
).run()
