import WebSocketClient

func freshToken() async throws -> String { "" }
func update(with message: WebSocketMessage) {}
