// What users see of the core: errors, states, statistics and the like are declared there.
@_exported public import PusherCore
