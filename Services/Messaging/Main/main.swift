import ParlorMessaging
import ParlorOperations
import ParlorServiceKit

await Program("parlor-messaging", "Messages and who has read them.", [.service(MessagingService.self), .operations])
    .run()
