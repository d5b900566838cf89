//! The ranks and types that each DirectML feature level supports, from the tables in the operator's documentation.

use std::fmt;
use std::ops::RangeInclusive;

use trundle_core::DType;

/// A feature level that changed the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FeatureLevel {
    /// `DML_FEATURE_LEVEL_2_1`, which introduced the operator.
    Level2_1 = 0x2100,
    /// `DML_FEATURE_LEVEL_3_0`.
    Level3_0 = 0x3000,
    /// `DML_FEATURE_LEVEL_4_0`.
    Level4_0 = 0x4000,
    /// `DML_FEATURE_LEVEL_5_0`.
    Level5_0 = 0x5000,
}

const UP_TO_32_BITS: &[DType] =
    &[DType::F32, DType::F16, DType::I32, DType::I16, DType::I8, DType::U32, DType::U16, DType::U8];

const UP_TO_64_BITS: &[DType] = &[
    DType::F64,
    DType::F32,
    DType::F16,
    DType::I64,
    DType::I32,
    DType::I16,
    DType::I8,
    DType::U64,
    DType::U32,
    DType::U16,
    DType::U8,
];

pub(super) struct Support {
    pub(super) ranks: RangeInclusive<usize>,
    pub(super) data_types: &'static [DType],
    pub(super) length_types: &'static [DType],
}

impl FeatureLevel {
    /// All levels, in ascending order.
    pub const ALL: [FeatureLevel; 4] = [
        FeatureLevel::Level2_1,
        FeatureLevel::Level3_0,
        FeatureLevel::Level4_0,
        FeatureLevel::Level5_0,
    ];

    /// The value of this level in DirectML's enumeration `DML_FEATURE_LEVEL`.
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Returns the level whose table applies to a value of `DML_FEATURE_LEVEL`: for 0x3100
    /// (`DML_FEATURE_LEVEL_3_1`) it is `DML_FEATURE_LEVEL_3_0`.
    ///
    /// Returns `None` below `DML_FEATURE_LEVEL_2_1`, which lacks the operator.
    pub fn from_number(number: u32) -> Option<FeatureLevel> {
        FeatureLevel::ALL.into_iter().rev().find(|level| level.number() <= number)
    }

    pub(super) fn support(self) -> Support {
        let (ranks, data_types, length_types): (_, _, &[DType]) = match self {
            FeatureLevel::Level2_1 => (4..=4, UP_TO_32_BITS, &[DType::U32]),
            FeatureLevel::Level3_0 => (4..=5, UP_TO_32_BITS, &[DType::U32]),
            FeatureLevel::Level4_0 => (1..=8, UP_TO_32_BITS, &[DType::U32]),
            FeatureLevel::Level5_0 => (1..=8, UP_TO_64_BITS, &[DType::U64, DType::U32]),
        };
        Support { ranks, data_types, length_types }
    }
}

impl fmt::Display for FeatureLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number();
        write!(f, "DML_FEATURE_LEVEL_{}_{}", number >> 12, number >> 8 & 0xf)
    }
}
