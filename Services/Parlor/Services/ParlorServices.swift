import ParlorAccounts
import ParlorElements
import ParlorMessaging
import ParlorPush
import ParlorRooms
import ParlorServiceKit

/// Parlor's services, in the order in which they start.
public enum ParlorServices {
    public static let all: [any Service.Type] = [
        AccountsService.self,
        RoomsService.self,
        MessagingService.self,
        ElementsService.self,
        PushService.self,
    ]
}
