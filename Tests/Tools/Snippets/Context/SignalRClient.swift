import SignalRClient

let connection = HubConnectionBuilder().withUrl(url: "https://example.com/chat").build()
let numbers = AsyncStream<Int> { _ in }
