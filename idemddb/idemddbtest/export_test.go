package idemddbtest

// Adopt gives attributes their normal form, for tests that compare answers of several engines.
var Adopt = adopt

// ItemSize is the size that write units are counted by.
var ItemSize = itemSize

// WriteUnits is what a write of an item costs.
var WriteUnits = writeUnits
