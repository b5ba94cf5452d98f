import Bookmarks
import Operations
import ServiceKit

await Program("parlor-bookmarks", "Bookmarks on messages.", [.service(BookmarksService.self), .operations]).run()
