package idemddbtest

// WriteUnits returns how many write units a write of an item costs.
var WriteUnits = writeUnits
