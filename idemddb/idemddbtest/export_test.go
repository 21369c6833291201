package idemddbtest

// Adopt gives attributes their normal form, for tests that compare answers of several engines.
var Adopt = adopt

// ItemSize returns the size by which write units are counted.
var ItemSize = itemSize

// WriteUnits returns how many write units a write of an item costs.
var WriteUnits = writeUnits
