"""Messages of that API about boxes: coding, matching, anchors, losses, what counts as found."""

TABLE = """
message BoxCoder
  1 faster_rcnn_box_coder FasterRcnnBoxCoder oneof=box_coder_oneof
  2 mean_stddev_box_coder MeanStddevBoxCoder oneof=box_coder_oneof
  3 square_box_coder SquareBoxCoder oneof=box_coder_oneof
  4 keypoint_box_coder KeypointBoxCoder oneof=box_coder_oneof
message FasterRcnnBoxCoder
  1 y_scale float default=10
  2 x_scale float default=10
  3 height_scale float default=5
  4 width_scale float default=5
message MeanStddevBoxCoder
  1 stddev float default=0.01
message SquareBoxCoder
  1 y_scale float default=10
  2 x_scale float default=10
  3 length_scale float default=5
message KeypointBoxCoder
  1 num_keypoints int32
  2 y_scale float default=10
  3 x_scale float default=10
  4 height_scale float default=5
  5 width_scale float default=5
message Matcher
  1 argmax_matcher ArgMaxMatcher oneof=matcher_oneof
  2 bipartite_matcher BipartiteMatcher oneof=matcher_oneof
message ArgMaxMatcher
  1 matched_threshold float default=0.5
  2 unmatched_threshold float default=0.5
  3 ignore_thresholds bool default=false
  4 negatives_lower_than_unmatched bool default=true
  5 force_match_for_each_row bool default=false
  6 use_matmul_gather bool default=false
message BipartiteMatcher
  6 use_matmul_gather bool default=false
message RegionSimilarityCalculator
  1 neg_sq_dist_similarity NegSqDistSimilarity oneof=region_similarity
  2 iou_similarity IouSimilarity oneof=region_similarity
  3 ioa_similarity IoaSimilarity oneof=region_similarity
  4 thresholded_iou_similarity ThresholdedIouSimilarity oneof=region_similarity
message NegSqDistSimilarity
message IouSimilarity
message IoaSimilarity
message ThresholdedIouSimilarity
  1 iou_threshold float default=0.5
message AnchorGenerator
  1 grid_anchor_generator GridAnchorGenerator oneof=anchor_generator_oneof
  2 ssd_anchor_generator SsdAnchorGenerator oneof=anchor_generator_oneof
  3 multiscale_anchor_generator MultiscaleAnchorGenerator oneof=anchor_generator_oneof
  4 flexible_grid_anchor_generator FlexibleGridAnchorGenerator oneof=anchor_generator_oneof
message GridAnchorGenerator
  1 height int32 default=256
  2 width int32 default=256
  3 height_stride int32 default=16
  4 width_stride int32 default=16
  5 height_offset int32 default=0
  6 width_offset int32 default=0
  7 scales float repeated
  8 aspect_ratios float repeated
message SsdAnchorGenerator
  1 num_layers int32 default=6
  2 min_scale float default=0.2
  3 max_scale float default=0.95
  12 scales float repeated
  4 aspect_ratios float repeated
  13 interpolated_scale_aspect_ratio float default=1
  5 reduce_boxes_in_lowest_layer bool default=true
  6 base_anchor_height float default=1
  7 base_anchor_width float default=1
  8 height_stride int32 repeated
  9 width_stride int32 repeated
  10 height_offset int32 repeated
  11 width_offset int32 repeated
message MultiscaleAnchorGenerator
  1 min_level int32 default=3
  2 max_level int32 default=7
  3 anchor_scale float default=4
  4 aspect_ratios float repeated
  5 scales_per_octave int32 default=2
  6 normalize_coordinates bool default=true
message FlexibleGridAnchorGenerator
  1 anchor_grid AnchorGrid repeated
  2 normalize_coordinates bool default=true
message AnchorGrid
  1 base_sizes float repeated
  2 aspect_ratios float repeated
  3 height_stride uint32
  4 width_stride uint32
  5 height_offset uint32 default=0
  6 width_offset uint32 default=0
message PostProcessing
  1 batch_non_max_suppression BatchNonMaxSuppression
  2 score_converter PostProcessing.ScoreConverter default=IDENTITY
  3 logit_scale float default=1
  4 calibration_config CalibrationConfig
message BatchNonMaxSuppression
  1 score_threshold float default=0
  2 iou_threshold float default=0.6
  3 max_detections_per_class int32 default=100
  5 max_total_detections int32 default=100
  6 use_static_shapes bool default=false
  7 use_class_agnostic_nms bool default=false
  8 max_classes_per_detection int32 default=1
  9 soft_nms_sigma float default=0
  10 use_partitioned_nms bool default=false
  11 use_combined_nms bool default=false
  12 change_coordinate_frame bool default=true
  13 use_hard_nms bool default=false
  14 use_cpu_nms bool default=false
enum PostProcessing.ScoreConverter IDENTITY=0 SIGMOID=1 SOFTMAX=2
message Loss
  1 localization_loss LocalizationLoss
  2 classification_loss ClassificationLoss
  3 hard_example_miner HardExampleMiner
  4 classification_weight float default=1
  5 localization_weight float default=1
  6 random_example_sampler RandomExampleSampler
  7 equalization_loss Loss.EqualizationLoss
  18 expected_loss_weights Loss.ExpectedLossWeights default=NONE
  19 min_num_negative_samples float default=0
  20 desired_negative_sampling_ratio float default=3
message LocalizationLoss
  1 weighted_l2 WeightedL2LocalizationLoss oneof=localization_loss
  2 weighted_smooth_l1 WeightedSmoothL1LocalizationLoss oneof=localization_loss
  3 weighted_iou WeightedIOULocalizationLoss oneof=localization_loss
  4 l1_localization_loss L1LocalizationLoss oneof=localization_loss
  5 weighted_giou WeightedGIOULocalizationLoss oneof=localization_loss
message WeightedL2LocalizationLoss
  1 anchorwise_output bool default=false
message WeightedSmoothL1LocalizationLoss
  1 anchorwise_output bool default=false
  2 delta float default=1
message WeightedIOULocalizationLoss
message L1LocalizationLoss
message WeightedGIOULocalizationLoss
message ClassificationLoss
  1 weighted_sigmoid WeightedSigmoidClassificationLoss oneof=classification_loss
  2 weighted_softmax WeightedSoftmaxClassificationLoss oneof=classification_loss
  5 weighted_logits_softmax WeightedSoftmaxClassificationAgainstLogitsLoss oneof=classification_loss
  3 bootstrapped_sigmoid BootstrappedSigmoidClassificationLoss oneof=classification_loss
  4 weighted_sigmoid_focal SigmoidFocalClassificationLoss oneof=classification_loss
  6 penalty_reduced_logistic_focal_loss PenaltyReducedLogisticFocalLoss oneof=classification_loss
  7 weighted_dice_classification_loss WeightedDiceClassificationLoss oneof=classification_loss
message WeightedSigmoidClassificationLoss
  1 anchorwise_output bool default=false
message WeightedSoftmaxClassificationLoss
  1 anchorwise_output bool default=false
  2 logit_scale float default=1
message WeightedSoftmaxClassificationAgainstLogitsLoss
  1 anchorwise_output bool default=false
  2 logit_scale float default=1
message BootstrappedSigmoidClassificationLoss
  1 alpha float
  2 hard_bootstrap bool default=false
  3 anchorwise_output bool default=false
message SigmoidFocalClassificationLoss
  1 anchorwise_output bool default=false
  2 gamma float default=2
  3 alpha float
message PenaltyReducedLogisticFocalLoss
  1 alpha float
  2 beta float
message WeightedDiceClassificationLoss
  1 squared_normalization bool default=false
  2 is_prediction_probability bool default=false
message HardExampleMiner
  1 num_hard_examples int32 default=64
  2 iou_threshold float default=0.7
  3 loss_type HardExampleMiner.LossType default=BOTH
  4 max_negatives_per_positive int32 default=0
  5 min_negatives_per_image int32 default=0
enum HardExampleMiner.LossType BOTH=0 CLASSIFICATION=1 LOCALIZATION=2
message RandomExampleSampler
  1 positive_sample_fraction float default=0.01
message Loss.EqualizationLoss
  1 weight float default=0
  2 exclude_prefixes string repeated
enum Loss.ExpectedLossWeights NONE=0 EXPECTED_SAMPLING=1 REWEIGHTING_UNMATCHED_ANCHORS=2
"""
